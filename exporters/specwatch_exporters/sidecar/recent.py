"""A short memory of totals: what happened over the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from specwatch_exporters.page import Key

WINDOW_S = 60.0
WINDOW_INTERVALS = 2.5
"""Where scrapes are far apart the window is this many intervals: it must hold two scrapes, late ones too."""


def window_of(interval_s: float) -> float:
    """Span in seconds over which recent figures are counted at a scrape interval in seconds."""
    return max(WINDOW_S, WINDOW_INTERVALS * interval_s)


class Recent:
    """Keeps totals of the last window and subtracts.

    After a gap longer than the window it begins anew: an increase over ten minutes is not one over the last.

    Args:
        window_s: span in seconds; the oldest totals kept are the youngest that are at least this old.
    """

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._points: deque[tuple[float, dict[Key, float]]] = deque()

    def add(self, now: float, totals: Mapping[Key, float]) -> None:
        """Remember totals at a time, monotonic seconds."""
        if self._points and now - self._points[-1][0] > self._window_s:
            self._points.clear()
        self._points.append((now, dict(totals)))
        while len(self._points) > 1 and self._points[1][0] <= now - self._window_s:
            self._points.popleft()

    def increases(self) -> dict[Key, float]:
        """Increases of the newest totals since the oldest; empty before there are two.

        A series that appeared meanwhile counts from zero if its engine was known, and not at all if it was not:
        a lifetime is not a minute.
        """
        if len(self._points) < 2:
            return {}
        (_, first), (_, last) = self._points[0], self._points[-1]
        known = {(key.model, key.engine) for key in first}
        return {
            key: max(0.0, value - first.get(key, 0.0))
            for key, value in last.items()
            if key in first or (key.model, key.engine) in known
        }

    def span_s(self) -> float:
        """Seconds that `increases` covers."""
        return self._points[-1][0] - self._points[0][0] if self._points else 0.0
