"""Failures that the engine can be told to show."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum

from specwatch_exporters.replay.clock import Clock


class FaultMode(StrEnum):
    """What goes wrong.

    hang: no answer. hang_body: half an answer, then nothing. slow: an answer after `delay_s`. 500, 503: that
    status. html: a web page with status 200. redirect: 302 to another host. truncate: half an answer that
    ends as if whole. cut: half an answer, then a reset connection. refuse: nobody listens. stall: HTTP works,
    but the engine makes no step.
    """

    HANG = "hang"
    HANG_BODY = "hang_body"
    SLOW = "slow"
    ERROR_500 = "500"
    ERROR_503 = "503"
    HTML = "html"
    REDIRECT = "redirect"
    TRUNCATE = "truncate"
    CUT = "cut"
    REFUSE = "refuse"
    STALL = "stall"


class FaultTarget(StrEnum):
    """Which routes: `/metrics`, the two completion routes, `/health`, or all but `/replay/`."""

    METRICS = "metrics"
    COMPLETIONS = "completions"
    HEALTH = "health"
    ALL = "all"


PARTIAL = frozenset({FaultMode.HANG_BODY, FaultMode.TRUNCATE, FaultMode.CUT})
"""Modes that let an answer begin."""

_TARGETS = {
    "/metrics": FaultTarget.METRICS,
    "/v1/completions": FaultTarget.COMPLETIONS,
    "/v1/chat/completions": FaultTarget.COMPLETIONS,
    "/health": FaultTarget.HEALTH,
}


@dataclass(slots=True, eq=False)
class Fault:
    """One failure.

    Attributes:
        until: engine time at which it ends; None until it is cleared.
        delay: seconds of the mode `slow`.
        over: set when it has ended.
    """

    mode: FaultMode
    target: FaultTarget
    until: float | None
    delay: float = 0.0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def covers(self, path: str) -> bool:
        """Whether requests to `path` fail."""
        if self.mode in {FaultMode.REFUSE, FaultMode.STALL} or path.startswith("/replay/"):
            return False
        return self.target is FaultTarget.ALL or _TARGETS.get(path) is self.target


class FaultBoard:
    """The failures in force; a new one replaces those of the same target."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._faults: list[Fault] = []

    @property
    def active(self) -> list[Fault]:
        """Failures that have not ended, oldest first."""
        self._expire()
        return list(self._faults)

    def put(self, fault: Fault) -> None:
        """Begin a failure."""
        for old in [item for item in self.active if item.target is fault.target]:
            self._end(old)
        self._faults.append(fault)

    def clear(self) -> None:
        """End all failures."""
        for fault in list(self._faults):
            self._end(fault)

    def on_path(self, path: str) -> Fault | None:
        """The failure that a request to `path` meets."""
        return next((fault for fault in self.active if fault.covers(path)), None)

    def stalled(self) -> Fault | None:
        """The failure that keeps the engine from stepping."""
        return next((fault for fault in self.active if fault.mode is FaultMode.STALL), None)

    async def ended(self, fault: Fault) -> None:
        """Wait until a failure is over, by time or because it was cleared."""
        while not fault.over.is_set():
            left = None if fault.until is None else max(fault.until - self._clock.monotonic(), 0.0)
            try:
                async with asyncio.timeout(left):
                    await fault.over.wait()
            except TimeoutError:
                self._expire()

    def _expire(self) -> None:
        now = self._clock.monotonic()
        for fault in [item for item in self._faults if item.until is not None and item.until <= now]:
            self._end(fault)

    def _end(self, fault: Fault) -> None:
        fault.over.set()
        self._faults.remove(fault)
