"""Whether an engine is the process that it was: kept, because it may be replaced while nobody looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specwatch_exporters.sidecar.watcher import Interval

_SAME_START_S: Final = 1.0
"""A process's start may wobble by clock adjustments."""


@dataclass(frozen=True, slots=True)
class EngineLife:
    """Signs of life of the processes that serve one model.

    Attributes:
        starts: process start by instance, epoch seconds; empty if the engine does not tell.
        counted: tokens and drafts counted since then, by engine (rank).
    """

    starts: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[str, float] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether there is any sign."""
        return bool(self.starts or self.counted)

    def began_after(self, other: EngineLife) -> bool:
        """Whether a process started later than the one of before, or counts less than that had counted already."""
        return any(
            start > other.starts.get(instance, start) + _SAME_START_S for instance, start in self.starts.items()
        ) or any(count < other.counted.get(engine, count) for engine, count in self.counted.items())

    def state(self) -> dict[str, Any]:
        """The signs, as JSON."""
        return {"starts": dict(self.starts), "counted": dict(self.counted)}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> EngineLife:
        """Read what `state` gave; what is wrong with another form is an error of `kept_part.MALFORMED`."""
        starts, counted = state["starts"], state["counted"]
        return cls(
            {str(name): float(value) for name, value in starts.items()},
            {str(name): float(value) for name, value in counted.items()},
        )


def life_of(interval: Interval, model: str) -> EngineLife:
    """What a scrape shows of the processes that serve a model."""
    counted: dict[str, float] = {}
    for key, value in interval.counted.items():
        if key.model == model:
            counted[key.engine] = counted.get(key.engine, 0.0) + value
    return EngineLife(interval.starts, counted)
