"""A short memory of totals: what happened over the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import islice

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
        self._points: deque[tuple[float, dict[Key, float], frozenset[tuple[str, str]]]] = deque()

    def add(self, now: float, totals: Mapping[Key, float]) -> None:
        """Remember totals at a time, monotonic seconds."""
        if self._points and now - self._points[-1][0] > self._window_s:
            self._points.clear()
        self._points.append((now, dict(totals), frozenset((key.model, key.engine) for key in totals)))
        while len(self._points) > 1 and self._points[1][0] <= now - self._window_s:
            self._points.popleft()

    def increases(self) -> dict[Key, float]:
        """Increases of the newest totals since the oldest; empty before there are two.

        A model of an engine that appeared meanwhile counts from its first totals on, whose own are its lifetime and
        not a minute; any other series that appeared meanwhile counts from zero.
        """
        if len(self._points) < 2:
            return {}
        first: dict[tuple[str, str], Mapping[Key, float]] = {}
        for _, totals, streams in islice(self._points, len(self._points) - 1):
            first.update(dict.fromkeys(streams - first.keys(), totals))
        return {
            key: max(0.0, value - first[key.model, key.engine].get(key, 0.0))
            for key, value in self._points[-1][1].items()
            if (key.model, key.engine) in first
        }

    def span_s(self) -> float:
        """Seconds that `increases` covers."""
        return self._points[-1][0] - self._points[0][0] if self._points else 0.0
