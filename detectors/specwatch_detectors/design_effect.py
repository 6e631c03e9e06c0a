"""Design effect: how many times wider accepted counts spread than a chain of independent drafts would.

Requests differ (code accepts, chat does not), one request fills many drafts, and drafts of one request hang
together. Measured on public traces the factor is 2 (one homogeneous task) to 40 (chat, or a mix), and 2 to 4
times that against the binomial variance of single tokens. Everything here is relative to the chain's variance v
of one draft.

Three estimators; the largest wins, with a floor of 2 and a prior of 30 until 500 intervals were seen:

    batch means         A_b = accepted over b intervals:  d = Var(A_b - m N_b) / (mean N_b v)
    request records     d = sum_r (A_r - m N_r)^2 / (v sum_r N_r),  N_r capped at 512 drafts
    intraclass (Kish)   d = 1 + (m - 1) rho,  rho of accepted tokens per draft by request

Batch means need b past the longest request, because requests straddle intervals; several b are kept and the largest
estimate counts. Sources: Kish 1965; Rao and Scott 1984; batch means: Conway 1963.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from specwatch_detectors.window import Window

FLOOR: Final = 2.0
PRIOR: Final = 30.0
PRIOR_INTERVALS: Final = 500
SAFETY: Final = 1.5
SPANS: Final = (12, 60, 180)
CAP_DRAFTS: Final = 512.0
LEAST_BATCHES: Final = 8
_HALF_LIFE_BATCHES: Final = 2000.0


class BatchMeans:
    """Spread of accepted tokens over spans of intervals, one pass, constant memory.

    Args:
        state: what `state` of a predecessor gave.
    """

    __slots__ = ("_open", "_sums", "intervals")

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        # Per span: intervals, drafts, accepted of the open batch; batches, N, N^2, A, A^2, N A of the closed.
        self._open = {span: [0.0, 0.0, 0.0] for span in SPANS}
        self._sums = {span: [0.0] * 6 for span in SPANS}
        self.intervals = 0
        if state is not None:
            self.intervals = int(state["intervals"])
            for span in SPANS:
                self._open[span] = [float(value) for value in state["open"][str(span)]]
                self._sums[span] = [float(value) for value in state["sums"][str(span)]]

    def update(self, observation: Window) -> None:
        """Take one interval in; one without drafts is left out."""
        drafts, accepted = observation.drafts, observation.accepted_tokens
        if drafts <= 0.0:
            return
        self.intervals += 1
        for span, batch in self._open.items():
            batch[0] += 1.0
            batch[1] += drafts
            batch[2] += accepted
            if batch[0] >= span:
                self._close(span, batch[1], batch[2])
                batch[:] = [0.0, 0.0, 0.0]

    def _close(self, span: int, drafts: float, accepted: float) -> None:
        sums = self._sums[span]
        if sums[0] >= _HALF_LIFE_BATCHES:  # old batches fade, so that months of history do not freeze the estimate
            sums[:] = [value / 2.0 for value in sums]
        for index, value in enumerate((1.0, drafts, drafts**2, accepted, accepted**2, drafts * accepted)):
            sums[index] += value

    def estimate(self, variance: float, longest: int = max(SPANS)) -> float | None:
        """The largest estimate over the spans, or None while no span has 8 batches.

        Args:
            variance: of the accepted tokens of one draft, in tokens^2; `Baseline.variance`.
            longest: span in intervals up to which estimates count.
        """
        found = self.by_span(variance)
        return max((value for span, value in found.items() if span <= longest), default=None)

    def by_span(self, variance: float) -> dict[int, float]:
        """The estimate of every span that has 8 batches, by span in intervals."""
        found = {span: self._of_span(span, variance) for span in SPANS}
        return {span: value for span, value in found.items() if value is not None}

    def _of_span(self, span: int, variance: float) -> float | None:
        batches, drafts, drafts2, accepted, accepted2, cross = self._sums[span]
        if batches < LEAST_BATCHES or drafts <= 0.0 or variance <= 0.0:
            return None
        mean = accepted / drafts
        residual = accepted2 - 2.0 * mean * cross + mean**2 * drafts2
        return max(0.0, residual) / (batches - 1.0) / (drafts / batches * variance)

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "intervals": self.intervals,
            "open": {str(span): list(values) for span, values in self._open.items()},
            "sums": {str(span): list(values) for span, values in self._sums.items()},
        }


def from_requests(requests: Iterable[tuple[float, float]], variance: float) -> float | None:
    """Design effect from records of requests, the long-run one directly; None under 30 requests.

    Args:
        requests: (drafts, accepted tokens) of each request.
        variance: of the accepted tokens of one draft.
    """
    scaled = [
        (min(drafts, CAP_DRAFTS), accepted * min(1.0, CAP_DRAFTS / drafts))
        for drafts, accepted in requests
        if drafts > 0
    ]
    total = sum(drafts for drafts, _ in scaled)
    if len(scaled) < 30 or variance <= 0.0:
        return None
    mean = sum(accepted for _, accepted in scaled) / total
    return sum((accepted - mean * drafts) ** 2 for drafts, accepted in scaled) / (total * variance)


def kish(rho: float, drafts_per_request: float) -> float:
    """Design effect of clusters of equal size: 1 + (m - 1) rho."""
    return 1.0 + max(0.0, drafts_per_request - 1.0) * max(0.0, rho)


def design_effect(
    estimates: Sequence[float | None], intervals: int, *, safety: float = SAFETY, prior: float = PRIOR
) -> float:
    """The design effect to test with.

    Args:
        estimates: of any estimators; None where one cannot tell.
        intervals: intervals with drafts seen so far; under 500 the prior is a lower limit.
        safety: factor on top, for the error of the estimate itself.
        prior: what to expect of such traffic before it is measured.

    Returns:
        At least 2, safety factor included.
    """
    known = [value for value in estimates if value is not None and math.isfinite(value)]
    expected = [prior] if intervals < PRIOR_INTERVALS or not known else []
    return max(FLOOR, safety * max((*known, *expected, 1.0)))
