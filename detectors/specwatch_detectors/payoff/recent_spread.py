"""How far acceptance spreads from minute to minute: the design effect behind bounds on what is so now.

The design effect of a drift test is the long-run one: it holds the hours over which a mix wanders, and for a busy
fleet it reaches tens of thousands. For the mean of the last minutes that is no error, because the question is what
acceptance is now. So blocks of a minute are compared with their neighbours,

    z^2 = (m_1 - m_2)^2 / (v (1 / N_1 + 1 / N_2)),   E z^2 = d,

and d is the median of the last 31 values over the median of chi-square with one degree of freedom: one step of the
draft moves two values, and the median does not care. Successive differences: von Neumann 1941.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors import chain
from specwatch_detectors.design_effect import FLOOR, PRIOR, SAFETY
from specwatch_detectors.window import NOTHING, Window

BLOCK_S: Final = 60.0
"""Longer than most requests, so that neighbours share few of them."""

KEPT: Final = 31
LEAST: Final = 15
CHI_SQUARE_MEDIAN: Final = 0.4549
_LEAST_DRAFTS: Final = 1.0


class RecentSpread:
    """The design effect of one stream's last half hour.

    Args:
        depth: K, for engines without positions.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: the state is not one of a spread.
    """

    __slots__ = ("_before", "_depth", "_found", "_open", "_open_s")

    def __init__(self, depth: int, state: Mapping[str, Any] | None = None) -> None:
        self._depth = depth
        self._open, self._open_s = NOTHING, 0.0
        self._before: Window | None = None
        self._found: deque[float] = deque(maxlen=KEPT)
        if state is not None:
            self._restore(state)

    def update(self, observation: Window, seconds: float) -> None:
        """Take one interval in; a minute without drafts breaks the row."""
        self._open += observation
        self._open_s += seconds
        if self._open_s < BLOCK_S:
            return
        block = self._open if self._open.drafts >= _LEAST_DRAFTS else None
        if block is not None and self._before is not None:
            self._found.append(self._compared(self._before, block))
        self._before, self._open, self._open_s = block, NOTHING, 0.0

    def changed(self, depth: int) -> None:
        """The engine changed: the blocks before and after are not neighbours."""
        self._depth, self._before = depth, None
        self._open, self._open_s = NOTHING, 0.0

    def design(self, known: float | None = None) -> float:
        """The design effect, safety factor included, at least 2.

        Args:
            known: a long-run one, safety factor included; while too little was seen it counts if it is below the
                prior, for the long run is no narrower than the short one.
        """
        if len(self._found) < LEAST:
            prior = PRIOR * SAFETY
            return prior if known is None else max(FLOOR, min(known, prior))
        return max(FLOOR, SAFETY * statistics.median(self._found) / CHI_SQUARE_MEDIAN)

    def state(self) -> dict[str, Any]:
        """What was found so far, as JSON."""
        return {"found": list(self._found)}

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            found = [float(value) for value in state["found"]]
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the state of a spread: {error!r}") from error
        if not all(math.isfinite(value) and value >= 0.0 for value in found):
            raise ValueError("not the state of a spread: a value is negative or no number")
        self._found.extend(found)

    def _compared(self, before: Window, after: Window) -> float:
        both = before + after
        gap = after.accepted_tokens / after.drafts - before.accepted_tokens / before.drafts
        return gap**2 / (self._variance(both) * (1.0 / before.drafts + 1.0 / after.drafts))

    def _variance(self, seen: Window) -> float:
        """Variance of the accepted tokens of one draft, smoothed by half a draft; never 0."""
        if seen.accepted and not seen.censored:
            pairs = zip(seen.accepted, seen.trials, strict=True)
            return chain.variance([(kept + 0.5) / (tried + 1.0) for kept, tried in pairs])
        mean = min((seen.accepted_tokens + 0.5) / (seen.drafts + 1.0), self._depth - 0.5 / (seen.drafts + 1.0))
        return chain.variance(chain.geometric(mean, self._depth))
