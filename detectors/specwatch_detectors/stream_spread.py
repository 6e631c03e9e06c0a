"""How far one stream's acceptance spreads: what a profile knows, what was measured since, what to expect before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.depth_spread import DepthSpread
from specwatch_detectors.design_effect import PRIOR, PRIOR_INTERVALS, SPANS, design_effect
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.window import Window


class StreamSpread:
    """The design effect of one stream.

    Args:
        settings: safety factors.
        known: design effect of a profile, without safety factor; None if there is none.
        state: what `state` of a predecessor gave; wins over `known`.
    """

    __slots__ = ("_known", "_measured", "_prior", "_settings")

    def __init__(
        self, settings: MonitorSettings, known: float | None = None, state: Mapping[str, Any] | None = None
    ) -> None:
        self._settings = settings
        self._known = known
        self._measured = DepthSpread()
        self._prior = PRIOR
        if state is not None:
            self._known, self._prior = state["known"], float(state["prior"])
            self._measured = DepthSpread(state["measured"])

    @property
    def intervals(self) -> int:
        """Intervals with drafts since the last change that brought another level of acceptance."""
        return self._measured.intervals

    def update(self, observation: Window) -> None:
        """Take one interval in."""
        self._measured.update(observation)

    def design(self, baseline: Baseline, depth: int) -> float:
        """The design effect to test with, safety factor included."""
        # What a profile says of long spans was checked by a replay; only the shortest may overrule it.
        longest = max(SPANS) if self._known is None else min(SPANS)
        seen = self._measured.estimate(baseline, depth, longest)
        intervals = self.intervals if self._known is None else PRIOR_INTERVALS
        return design_effect([self._known, seen], intervals, safety=self._safety, prior=self._prior)

    def renew(self, design: float) -> None:
        """Measure anew: a step between two versions is no spread, and how far the old one spread is expected.

        Args:
            design: the design effect tested with so far, safety factor included.
        """
        if self.intervals >= PRIOR_INTERVALS:
            self._prior = design / self._safety
        self._measured = DepthSpread()

    @property
    def _safety(self) -> float:
        """How much wider the spread may be than it was measured: less after a week than after hours."""
        return self._settings.safety if self._known is None else self._settings.profile_safety

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {"known": self._known, "prior": self._prior, "measured": self._measured.state()}
