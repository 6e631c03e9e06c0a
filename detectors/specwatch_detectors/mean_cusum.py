"""CUSUM on accepted tokens per draft, for engines that export no positions (SGLang).

Formula, for an interval with A accepted tokens of N drafts, where one draft of the baseline accepts a tokens
with probability P(a) (a chain with equal conditionals and the baseline's mean, because nothing says otherwise):

    l = (1/d) (theta A - N ln E),   E = sum_a P(a) exp(theta a)
    S = max(0, S + l),   alarm when S >= h

the log-likelihood ratio of P tilted by exp(theta a), with theta such that the tilted mean is that of the chain
whose conditionals are r times as large. For many drafts it is the ratio of two normals; for a draft that is nearly
always accepted, whose counts are skewed, it stays a likelihood ratio. Parameters and clipping: `chain_cusum.py`.

Guarantees: E[exp(l)] <= 1 for independent drafts that accept as P says and any d >= 1, so those of
`chain_cusum.py`. Where real conditionals rise with depth the true variance is somewhat larger than P's: the design
effect, measured against P's, takes that up.

Failure modes: as in `chain_cusum.py`; and the mean depends on the number of draft tokens, so that another K, or
drafts of several depths, look like drift: the baseline must be learned anew.

Source: Page 1954; Moustakides 1986; exponential tilting: Siegmund 1985.
"""

from __future__ import annotations

import math
from typing import Final

from specwatch_detectors import chain
from specwatch_detectors.chain_cusum import CLIP_DOWN_SD, CLIP_UP_SD, MOST_SHARE
from specwatch_detectors.detector import State
from specwatch_detectors.window import Window

_STEEPEST: Final = 10.0


class MeanCusum:
    """One CUSUM on accepted tokens per draft.

    Args:
        mean: accepted tokens per draft of the baseline.
        depth: draft tokens per draft.
        ratio: alternative over baseline, of the conditional acceptance.
        design: design effect d >= 1, safety factor included.
        threshold: h in nats, > 0.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: an argument is out of its range.
    """

    __slots__ = ("_mean", "_other", "_per_draft", "_per_token", "_sd", "evidence", "threshold")

    def __init__(
        self,
        mean: float,
        *,
        depth: int,
        ratio: float,
        design: float,
        threshold: float,
        state: State | None = None,
    ) -> None:
        if not 0.0 < mean < depth:
            raise ValueError(f"the mean must be between 0 and the depth {depth}, got {mean}")
        if not ratio > 0.0 or ratio == 1.0 or not design >= 1.0 or not threshold > 0.0:
            raise ValueError(f"not usable: ratio {ratio}, design {design}, threshold {threshold}")
        base = tuple(chain.inside(value) for value in chain.geometric(mean, depth))
        shares = _kept(base)
        other = chain.mean_accepted([chain.inside(ratio * value) for value in base])
        theta = _tilt(shares, other)
        self.threshold = threshold
        self._per_token = theta / design
        self._per_draft = -math.log(_sums(shares, theta)[0]) / design
        # Per draft: mean of l under either, and variance with the d-fold spread that traffic has.
        self._mean = self._per_token * chain.mean_accepted(base) + self._per_draft
        self._other = self._per_token * other + self._per_draft
        self._sd = chain.variance(base) * design * self._per_token**2
        self.evidence = 0.0 if state is None else max(0.0, state["evidence"])

    def update(self, observation: Window) -> float:
        """Take one interval in; returns S / h: 1 or more is an alarm."""
        added = min(self.increment(observation), MOST_SHARE * self.threshold)
        self.evidence = max(0.0, self.evidence + added)
        return self.evidence / self.threshold

    def increment(self, observation: Window) -> float:
        """Evidence of one interval for the alternative, in nats, clipped."""
        drafts = observation.drafts
        found = self._per_token * observation.accepted_tokens + self._per_draft * drafts
        centre = self._mean * drafts
        sd = math.sqrt(drafts * self._sd)
        return min(max(centre + CLIP_UP_SD * sd, self._other * drafts), max(centre - CLIP_DOWN_SD * sd, found))

    def reset(self) -> None:
        """Forget the evidence."""
        self.evidence = 0.0

    def state(self) -> dict[str, float]:
        """The evidence so far, in nats."""
        return {"evidence": self.evidence}


def _kept(q: chain.Chain) -> chain.Chain:
    """P(a) for a = 0..k: how likely one draft keeps so many tokens."""
    ends = (*(1.0 - value for value in q), 1.0)
    return tuple(share * end for share, end in zip(chain.reached((*q, 1.0)), ends, strict=True))


def _sums(shares: chain.Chain, theta: float) -> tuple[float, float]:
    """Sum of P(a) exp(theta a), and the mean of the tilted distribution."""
    tilted = [share * math.exp(theta * kept) for kept, share in enumerate(shares)]
    total = sum(tilted)
    return total, sum(kept * weight for kept, weight in enumerate(tilted)) / total


def _tilt(shares: chain.Chain, mean: float) -> float:
    """The theta at which the tilted distribution has that mean."""
    low, high = -_STEEPEST, _STEEPEST
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _sums(shares, middle)[1] < mean else (low, middle)
    return (low + high) / 2.0
