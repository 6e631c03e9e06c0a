"""What happened to an engine or its traffic, with its time: acceptance may answer to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class EventKind(StrEnum):
    """Kinds of events; the first five have the values of `reading.Change`."""

    RESTART = "restart"
    DEPLOY = "deploy"
    VERSION = "version"
    DEPTH = "depth"
    METHOD = "method"
    TARGET = "target"
    DRAFT = "draft"
    WEIGHTS = "weights"
    QUANTISATION = "quantisation"
    CONFIG = "config"
    TEMPLATE = "template"
    TEMPERATURE = "temperature"
    CLIENT = "client"


WORDS = {
    EventKind.RESTART: "engine restart",
    EventKind.DEPLOY: "deploy",
    EventKind.VERSION: "engine version change",
    EventKind.DEPTH: "change of the number of draft tokens (K)",
    EventKind.METHOD: "change of the speculation method",
    EventKind.TARGET: "new target model",
    EventKind.DRAFT: "new draft model",
    EventKind.WEIGHTS: "weight update in the running engine",
    EventKind.QUANTISATION: "change of quantisation",
    EventKind.CONFIG: "change of engine settings",
    EventKind.TEMPLATE: "change of the chat template or system prompt",
    EventKind.TEMPERATURE: "change of sampling temperature",
    EventKind.CLIENT: "new client or load test",
}

ROLLOUTS = frozenset(EventKind) - {EventKind.TEMPLATE, EventKind.TEMPERATURE, EventKind.CLIENT}
"""Kinds that change what serves; the others change what is asked."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        kind: what happened.
        time: seconds, of the same clock as the onset.
        was: value before, such as a version; empty if unknown.
        now: value after.
    """

    kind: EventKind
    time: float
    was: str = ""
    now: str = ""

    @property
    def words(self) -> str:
        """The event for a person, without its time."""
        values = f" ({self.was} → {self.now})" if self.was and self.now else f" ({self.now})" if self.now else ""
        return WORDS[self.kind] + values

    def as_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"kind": self.kind.value, "time": self.time, "was": self.was, "now": self.now}
