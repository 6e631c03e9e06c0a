"""What the demand of a model depends on: one set of numbers for rules, manifests and the simulation."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LEAST_SCRAPES: Final = 4
"""Scrapes in a window at least: Prometheus 3 leaves out the left edge, and a rate needs two samples."""


class ScaleError(ValueError):
    """A setting cannot be used; the message is one line that says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandSettings:
    """Numbers behind the demand series.

    Attributes:
        namespace: of the engines' pods, and scope of every selector.
        model: name on the engines' pages, likewise.
        slots: requests that one pod runs at once, all of its engines together (`--max-num-seqs`).
        target_use: share of the slots that is to be used.
        drain_s: time in which a backlog is to be gone.
        wait_slo_s: objective for the queue wait.
        wait_most: a queue wait asks for at most so many times the pods that are ready.
        kv_limit: share of the KV cache that may be used.
        feed_forward_most: by which shorter acceptance raises the service time at most, before it is measured.
        start_up_s: from asking for a pod to its first request.
        drafts_least: draft steps in `now_s` below which acceptance is unknown.
        scrape_s: scrape interval, and interval of the rule group.
        rate_s: window of arrivals.
        service_s: window of the service time.
        now_s: window of what counts as now.
    """

    namespace: str
    model: str
    slots: int
    target_use: float = 0.9
    drain_s: float = 60.0
    wait_slo_s: float = 1.0
    wait_most: float = 4.0
    kv_limit: float = 0.9
    feed_forward_most: float = 2.5
    start_up_s: int = 180
    drafts_least: int = 50
    scrape_s: int = 15
    rate_s: int = 120
    service_s: int = 300
    now_s: int = 60

    def __post_init__(self) -> None:
        if not _NAMESPACE.fullmatch(self.namespace):
            raise ScaleError(f"namespace {self.namespace!r} is no Kubernetes name: lower case, digits, -, 1 to 63")
        if not self.model.strip() or any(ord(letter) < 32 for letter in self.model) or len(self.model) > 500:
            raise ScaleError("model must be the name on the engine's page, 1 to 500 characters")
        _whole("slots", self.slots, 1, 100_000)
        _between("target use", self.target_use, 0.1, 1.0)
        _between("drain time (seconds)", self.drain_s, 1.0, 3600.0)
        _between("queue wait objective (seconds)", self.wait_slo_s, 0.001, 3600.0)
        _between("most multiple of pods for a wait", self.wait_most, 1.0, 10.0)
        _between("KV limit", self.kv_limit, 0.1, 1.0)
        _between("most feed-forward", self.feed_forward_most, 1.0, 10.0)
        _whole("start-up time (seconds)", self.start_up_s, 1, 3600)
        _whole("least drafts", self.drafts_least, 1, 1_000_000)
        _whole("scrape interval (seconds)", self.scrape_s, 1, 60)
        for name, value in (("rate", self.rate_s), ("service", self.service_s), ("now", self.now_s)):
            least = LEAST_SCRAPES * self.scrape_s
            if not least <= value <= 3600:
                raise ScaleError(f"{name} window must be {least} (four scrapes) to 3600 seconds, not {value}")


def _whole(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not least <= value <= most:
        raise ScaleError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def _between(name: str, value: float, least: float, most: float) -> None:
    if not math.isfinite(value) or not least <= value <= most:
        raise ScaleError(f"{name} must be between {least:g} and {most:g}, not {value:g}")
