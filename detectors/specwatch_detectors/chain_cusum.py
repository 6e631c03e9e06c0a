"""Chain-likelihood CUSUM: does the draft accept less (or more) than it did?

Formula, for an interval with s_j accepted of n_j tried at position j, a baseline q_j and the alternative r q_j:

    l = (1/d) sum_j [ s_j ln(r q_j / q_j) + (n_j - s_j) ln((1 - r q_j) / (1 - q_j)) ]
    S = max(0, S + l),   alarm when S >= h

Parameters: the baseline q; the ratio r, the smallest change worth an alarm (0.97 and 0.93 down, 1.03 up); the
design effect d, by which requests that differ and tokens that hang together widen the variance; the threshold
h. An interval's l is clipped to its mean under the baseline plus 3 or minus 6 standard deviations, so that one
odd minute is not an alarm: a few long requests make tails heavier than the normal's, and 3 is where that begins
to show. Upwards at least to its mean under the alternative, because with many drafts in an interval that lies
farther away; but no interval adds more than h / 2 to S, so an alarm takes two.

Guarantees: E[exp(l)] <= 1 under the baseline for independent drafts and any d >= 1 (Jensen; the clip downwards,
seen only with a handful of drafts, adds less than 10^-3), so the mean time between false alarms is at least
exp(h) intervals (Lorden 1971). At the ratio it is tuned to, CUSUM has the smallest worst-case delay of all tests
with that false-alarm rate (Moustakides 1986). An interval without drafts is no evidence; the depth may change from
interval to interval, because only positions that were verified count.

Failure modes: blind to changes smaller than half of 1 - r, on purpose; a d that is too small (estimated over spans
shorter than the longest requests) brings false alarms in proportion; below d drafts an interval l is skewed, which
clipping and the safety factor on d absorb. A changed mix of traffic looks like drift: see `standardised_cusum.py`.

Source: Page 1954; Moustakides 1986; tempering by a design effect: Kish 1965, Rao and Scott 1984.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from specwatch_detectors.chain import inside
from specwatch_detectors.detector import State
from specwatch_detectors.window import Window

CLIP_UP_SD: Final = 3.0
CLIP_DOWN_SD: Final = 6.0
MOST_SHARE: Final = 0.5
"""Of the threshold, at most, from one interval: an alarm takes two."""


class ChainCusum:
    """One CUSUM on conditional acceptances.

    Args:
        q: baseline conditional acceptances, first position first.
        ratio: alternative over baseline; under 1 for a worse draft, over 1 for a better one.
        design: design effect d >= 1, safety factor included.
        threshold: h in nats, > 0.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: an argument is out of its range.
    """

    __slots__ = ("_terms", "evidence", "threshold")

    def __init__(
        self,
        q: Sequence[float],
        *,
        ratio: float,
        design: float,
        threshold: float,
        state: State | None = None,
    ) -> None:
        if not ratio > 0.0 or ratio == 1.0:
            raise ValueError(f"ratio must be positive and not 1, got {ratio}")
        if not design >= 1.0 or not threshold > 0.0:
            raise ValueError(f"design must be at least 1 and threshold positive, got {design} and {threshold}")
        base = [inside(value) for value in q]
        other = [inside(ratio * value) for value in base]
        self.threshold = threshold
        # Per tried token: l if it was kept, l if not, the mean of l under either hypothesis, and its variance with
        # the d-fold spread that traffic has.
        terms = []
        for a, b in zip(base, other, strict=True):
            win, loss = math.log(b / a) / design, math.log((1.0 - b) / (1.0 - a)) / design
            variance = design * a * (1.0 - a) * (win - loss) ** 2
            terms.append((win, loss, a * win + (1.0 - a) * loss, b * win + (1.0 - b) * loss, variance))
        self._terms = tuple(terms)
        self.evidence = 0.0 if state is None else max(0.0, state["evidence"])

    def update(self, observation: Window) -> float:
        """Take one interval in; returns S / h: 1 or more is an alarm."""
        added = min(self.increment(observation), MOST_SHARE * self.threshold)
        self.evidence = max(0.0, self.evidence + added)
        return self.evidence / self.threshold

    def increment(self, observation: Window) -> float:
        """Evidence of one interval for the alternative, in nats, clipped."""
        found = mean = spread = 0.0
        accepted, trials = observation.accepted, observation.trials
        for kept, tried, (win, loss, centre, _, variance) in zip(accepted, trials, self._terms, strict=False):
            found += kept * win + (tried - kept) * loss
            mean += tried * centre
            spread += tried * variance
        sd = math.sqrt(spread)
        if found < mean:
            return max(found, mean - CLIP_DOWN_SD * sd)
        if found <= mean + CLIP_UP_SD * sd:
            return found
        other = sum(tried * term[3] for tried, term in zip(trials, self._terms, strict=False))
        return min(found, max(mean + CLIP_UP_SD * sd, other))

    def reset(self) -> None:
        """Forget the evidence."""
        self.evidence = 0.0

    def state(self) -> dict[str, float]:
        """The evidence so far, in nats."""
        return {"evidence": self.evidence}
