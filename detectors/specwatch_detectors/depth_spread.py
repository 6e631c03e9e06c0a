"""Spread of accepted tokens where drafts change their depth: measured depth by depth, over positions that all had.

Five tokens are accepted more often than two of them: an engine that drafts less when it is busy would look like one
whose acceptance swings. Each interval is therefore counted with the intervals of its own depth, the positions that
(nearly) all of its drafts had, and compared with the variance of a draft of that depth. The largest estimate
counts: requests that differ spread wider the deeper drafts are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.design_effect import SPANS, BatchMeans
from specwatch_detectors.window import Window


class DepthSpread:
    """Batch means by depth; depth 0 is that of an engine without positions.

    Args:
        state: what `state` of a predecessor gave.
    """

    __slots__ = ("_by_depth",)

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        kept = {} if state is None else state
        self._by_depth = {int(depth): BatchMeans(own) for depth, own in kept.items()}

    @property
    def intervals(self) -> int:
        """Intervals with drafts, of all depths."""
        return sum(own.intervals for own in self._by_depth.values())

    def update(self, observation: Window) -> None:
        """Take one interval in; one without drafts is left out."""
        depth = observation.depth()
        if observation.drafts <= 0.0 or (observation.accepted and not depth):
            return
        if depth not in self._by_depth:
            self._by_depth[depth] = BatchMeans()
        whole = depth == len(observation.accepted) and not observation.censored
        self._by_depth[depth].update(observation if whole else observation.first(depth))

    def by_span(self, baseline: Baseline, depth: int) -> dict[int, float]:
        """The largest estimate of every span that has 8 batches of one depth, by span in intervals.

        Args:
            baseline: gives the variance of a draft.
            depth: draft tokens per draft, for engines without positions.
        """
        found: dict[int, float] = {}
        for positions, own in self._by_depth.items():
            for span, value in own.by_span(baseline.variance(depth, positions)).items():
                found[span] = max(value, found.get(span, 0.0))
        return found

    def estimate(self, baseline: Baseline, depth: int, longest: int = max(SPANS)) -> float | None:
        """The largest estimate over depths and spans up to the longest; None while nothing has 8 batches."""
        found = self.by_span(baseline, depth)
        return max((value for span, value in found.items() if span <= longest), default=None)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {str(depth): own.state() for depth, own in sorted(self._by_depth.items())}
