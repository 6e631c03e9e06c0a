"""Notices what changed about a model's engine between two scrapes."""

from __future__ import annotations

from collections import deque
from typing import Final

from specwatch_detectors.reading import Change
from specwatch_exporters.report import ModelReport

ADAPTIVE_CHANGES: Final = 3
ADAPTIVE_SPAN_S: Final = 3600.0


class ChangeWatch:
    """Compares version, method and K with what they were; unknown is no change.

    An engine that changes K three times within an hour adapts it by itself: from then on a changed K is no event.
    """

    def __init__(self) -> None:
        self._version: str | None = None
        self._method: str | None = None
        self._depth: int | None = None
        self._depth_changes: deque[float] = deque(maxlen=ADAPTIVE_CHANGES)

    @property
    def adaptive(self) -> bool:
        """K changes by itself."""
        changes = self._depth_changes
        return len(changes) == ADAPTIVE_CHANGES and changes[-1] - changes[0] <= ADAPTIVE_SPAN_S

    def take(self, report: ModelReport, version: str | None, now: float, *, restarted: bool) -> list[Change]:
        """What changed since the last look, the weightiest last.

        Args:
            report: the model as known now.
            version: of the engine, if it tells.
            now: seconds.
            restarted: its counters started again.
        """
        found = [Change.RESTART] if restarted else []
        if self._differs(self._version, version):
            found.append(Change.VERSION)
        if self._differs(self._depth, report.speculative_tokens):
            self._depth_changes.append(now)
            if not self.adaptive:
                found.append(Change.DEPTH)
        if self._differs(self._method, report.method):
            found.append(Change.METHOD)
        self._version = version or self._version
        self._depth = report.speculative_tokens or self._depth
        self._method = report.method or self._method
        return found

    @staticmethod
    def _differs(before: object, now: object) -> bool:
        return before is not None and now is not None and before != now
