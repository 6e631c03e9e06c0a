"""A short memory of totals: what happened over the last minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from specwatch_exporters.page import Key

WINDOW_S = 60.0


class Recent:
    """Keeps totals of the last window and subtracts.

    Args:
        window_s: span in seconds; the oldest totals kept are the youngest that are at least this old.
    """

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._points: deque[tuple[float, dict[Key, float]]] = deque()

    def add(self, now: float, totals: Mapping[Key, float]) -> None:
        """Remember totals at a time, monotonic seconds."""
        self._points.append((now, dict(totals)))
        while len(self._points) > 1 and self._points[1][0] <= now - self._window_s:
            self._points.popleft()

    def increases(self) -> dict[Key, float]:
        """Increases between the oldest and the newest totals; empty before there are two."""
        if len(self._points) < 2:
            return {}
        (_, first), (_, last) = self._points[0], self._points[-1]
        return {key: value - first.get(key, 0.0) for key, value in last.items()}

    def span_s(self) -> float:
        """Seconds that `increases` covers."""
        return self._points[-1][0] - self._points[0][0] if self._points else 0.0
