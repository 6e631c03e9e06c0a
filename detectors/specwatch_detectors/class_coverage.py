"""How much of the traffic has a class, and since when that cannot be said or is too little."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.window import Window

LEAST_COVERAGE: Final = 0.8
"""Share of drafts with a class from which the classes judge instead of the total."""
_MEMORY: Final = 8.0
_BARE: Final = 10.0
"""Of the classes' lag: the span that a share is taken over, and how long it must be small to be believed. After a
quiet night the first answers end a lag later than their drafts; the share is right again after five lags."""
_SILENT: Final = 2.0
"""Of the classes' lag: how long no request may report while drafts go on, before it is said that none does."""


class ClassCoverage:
    """Weighs drafts that have a class against all drafts.

    Whether the class is known, has a baseline or not makes no difference here: an unknown class is a class.

    Args:
        lag_s: seconds by which counts of classes may come after the total's.
        state: what `state` of a predecessor gave.

    Attributes:
        unreadable: the counts could not be read at the last interval.
    """

    def __init__(self, lag_s: float, state: Mapping[str, Any] | None = None) -> None:
        self._lag = lag_s
        self._classed = self._all = 0.0
        self._seen: float | None = None
        self._bare: float | None = None
        self._silent: float | None = None
        self.unreadable = False
        if state is not None:
            self._classed, self._all = float(state["classed"]), float(state["all"])
            self._seen, self._bare, self._silent = state["seen"], state["bare"], state["silent"]
            self.unreadable = bool(state["unreadable"])

    @property
    def share(self) -> float:
        """Share of the last drafts that have a class, 0 to 1; 0 before any."""
        return min(1.0, self._classed / self._all) if self._all > 0.0 else 0.0

    def update(self, drafts: float, classes: Mapping[str, Window] | None, now: float) -> bool:
        """Take one interval in; returns whether the classes' counts are those of this interval.

        Args:
            drafts: of all traffic.
            classes: counts by class; None if they could not be read.
            now: end of the interval, seconds.
        """
        before, was_unreadable = self._seen, self.unreadable
        self._seen, self.unreadable = now, classes is None
        classed = sum(window.drafts for window in (classes or {}).values())
        self._hear(classed, drafts, now if before is None else before)
        if classes is None:
            return False
        if was_unreadable:  # all of the outage comes at once, and with it what was late before
            self._classed = min(self._all, self._classed + classed)
            self._believe()
            return False
        if drafts > 0.0 or classed > 0.0:
            passed = 0.0 if before is None else min(now - before, self._lag)  # silence is no news
            fade = math.exp(-passed / (_MEMORY * self._lag)) if self._lag > 0.0 else 0.0
            self._classed, self._all = fade * self._classed + classed, fade * self._all + drafts
        self._believe()
        if self.share < LEAST_COVERAGE and self._bare is None and drafts > 0.0:
            self._bare = now
        return True

    def _believe(self) -> None:
        """A share that is large enough is not too small any more, however it came to be known."""
        if self.share >= LEAST_COVERAGE:
            self._bare = None

    def _hear(self, classed: float, drafts: float, began: float) -> None:
        if classed > 0.0:
            self._silent = None
        elif self._silent is None and (self.unreadable or drafts > 0.0):
            self._silent = began

    def bare(self, now: float) -> bool:
        """Whether a large part of the traffic has had no class for long enough to be sure."""
        return self._bare is not None and now - self._bare > _BARE * self._lag

    def silence(self, now: float) -> float | None:
        """Seconds for which nothing has been heard of classes; None while they report, late ones included."""
        if self._silent is None:
            return None
        silent = max(0.0, now - self._silent)
        return silent if self.unreadable or silent > _SILENT * self._lag else None

    def heard(self, now: float) -> float:
        """The last time at which it was known how the classes do."""
        return now if self._silent is None else min(now, self._silent)

    def rebase(self, now: float) -> None:
        """Kept times that lie in the future are moved to now."""
        self._seen, self._bare, self._silent = (
            None if at is None else min(at, now) for at in (self._seen, self._bare, self._silent)
        )

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "classed": self._classed,
            "all": self._all,
            "seen": self._seen,
            "bare": self._bare,
            "silent": self._silent,
            "unreadable": self.unreadable,
        }
