"""How many requests were generating together: the batch that a request saw.

A request counts from its first token to its end, with each of its choices. One that is not streamed shows no first
token; it counts from its arrival.
"""

from __future__ import annotations

from typing import NamedTuple


class Mark(NamedTuple):
    """A moment: its time, and the requests times seconds up to it."""

    time: float
    area: float


class BatchMeter:
    """Counts generating requests and integrates their number over time.

    Times are monotonic seconds. `join` and `leave` cost a few operations, whatever the number of requests.
    """

    __slots__ = ("_area", "_time", "size")

    def __init__(self) -> None:
        self.size = 0
        self._time = 0.0
        self._area = 0.0

    def join(self, choices: int, now: float) -> None:
        """A request starts to generate this many choices."""
        self._advance(now)
        self.size += choices

    def leave(self, choices: int, now: float) -> None:
        """It has ended."""
        self._advance(now)
        self.size -= choices

    def mark(self, now: float) -> Mark:
        """Remember this moment for `mean_since`."""
        self._advance(now)
        return Mark(now, self._area)

    def mean_since(self, mark: Mark, now: float) -> float:
        """Time-weighted mean number since a moment; the present number if no time has passed."""
        self._advance(now)
        span = now - mark.time
        return (self._area - mark.area) / span if span > 0 else float(self.size)

    def _advance(self, now: float) -> None:
        if now > self._time:
            self._area += self.size * (now - self._time)
            self._time = now
