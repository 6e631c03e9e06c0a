"""Latency CUSUM: do tokens take longer than they did, at the same batch size?

Speculation can slow an engine down while acceptance stays healthy: a draft that takes longer, a schedule that
falls to K = 0 and still pays for the drafter (reported: 6.6 % a token at 2 requests, 21.6 % at 189, with no
token drafted). Tokens also take longer in a larger batch, so each batch bucket b has its own baseline mean m_b
and more load moves samples to another bucket instead of looking like drift. Formula, for an interval with n_b
samples of mean t_b:

    x = sum_b (n_b / v_b) ln(t_b / m_b) / P,   P = sum_b n_b / v_b            log ratio, weighted by precision
    l = ln(r) (x - ln(r) / 2) / (1 / P + f^2)
    S = max(0, S + l),   alarm when S >= h

Parameters: m_b and v_b, the mean and the relative variance of one sample with its design effect (samples of one
step share its time, so v_b is far above that of one request's tokens); the ratio r, 1.1 and 1.3 for slower,
under 1 for faster; f, a floor of 3 % on the standard deviation of an interval, common to all buckets, because
context lengths and neighbours on the host move the mean however many tokens there are; the threshold h. One
interval adds at most h / 3, so that a pause of one or two intervals is not an alarm.

Guarantees: E[exp(l)] <= 1 under the baseline where x is normal with at most the variance 1 / P + f^2, so the mean
time between false alarms is at least exp(h) intervals (Lorden 1971); cutting l from above only lowers it. Buckets
without a baseline, and intervals without samples, are no evidence.

Failure modes: longer contexts within one batch bucket look like slower tokens; a neighbour on the GPU does too;
blind to changes smaller than half of ln(r); blind in buckets that the baseline did not see.

Source: Page 1954; Moustakides 1986; the K = 0 cost: vLLM 49548 (reported).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specwatch_detectors.detector import State

FLOOR_SD: Final = 0.03
LEAST_INTERVALS: Final = 3
_NANOSECOND: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Times:
    """Latency samples of one batch bucket in one interval: a histogram's `_sum` and `_count`.

    Attributes:
        seconds: their sum.
        samples: how many.
    """

    seconds: float
    samples: float

    @property
    def mean(self) -> float | None:
        """Seconds per sample; None without samples, or under a nanosecond, which no clock measures."""
        if not self.samples > 0.0:
            return None
        mean = self.seconds / self.samples
        return mean if mean >= _NANOSECOND else None


@dataclass(frozen=True, slots=True)
class TimeBaseline:
    """What a sample of one batch bucket took when all was well.

    Attributes:
        mean: seconds, > 0.
        variance: of one sample relative to mean^2, design effect and safety factor included, > 0.
    """

    mean: float
    variance: float


class LatencyCusum:
    """One CUSUM on the log ratio of mean latencies, over all batch buckets.

    Args:
        baselines: by batch bucket.
        ratio: alternative over baseline; over 1 for slower, under 1 for faster.
        threshold: h in nats, > 0.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: an argument is out of its range.
    """

    __slots__ = ("_baselines", "_shift", "evidence", "threshold")

    def __init__(
        self,
        baselines: Mapping[str, TimeBaseline],
        *,
        ratio: float,
        threshold: float,
        state: State | None = None,
    ) -> None:
        if not ratio > 0.0 or ratio == 1.0 or not threshold > 0.0:
            raise ValueError(f"not usable: ratio {ratio}, threshold {threshold}")
        if not all(base.mean > 0.0 and base.variance > 0.0 for base in baselines.values()):
            raise ValueError("mean and variance of every bucket must be positive")
        self._baselines = dict(baselines)
        self._shift = math.log(ratio)
        self.threshold = threshold
        self.evidence = 0.0 if state is None else max(0.0, state["evidence"])

    def update(self, observation: Mapping[str, Times]) -> float:
        """Take one interval in, by batch bucket; returns S / h: 1 or more is an alarm."""
        self.evidence = max(0.0, self.evidence + self.increment(observation))
        return self.evidence / self.threshold

    def increment(self, observation: Mapping[str, Times]) -> float:
        """Evidence of one interval for the alternative, in nats, cut at a third of the threshold."""
        pooled = log_ratio(observation, self._baselines)
        if pooled is None:
            return 0.0
        x, precision = pooled
        found = self._shift * (x - self._shift / 2.0) / (1.0 / precision + FLOOR_SD**2)
        return min(found, self.threshold / LEAST_INTERVALS)

    def reset(self) -> None:
        """Forget the evidence."""
        self.evidence = 0.0

    def state(self) -> dict[str, float]:
        """The evidence so far, in nats."""
        return {"evidence": self.evidence}


def log_ratio(
    observation: Mapping[str, Times], baselines: Mapping[str, TimeBaseline]
) -> tuple[float, float] | None:
    """Log of latency over baseline, weighted by precision over the buckets that have both.

    Returns:
        The log ratio and its precision (1 / variance, without the floor); None where no bucket has both.
    """
    weighted = precision = 0.0
    for bucket, times in observation.items():
        base, mean = baselines.get(bucket), times.mean
        if base is None or mean is None:
            continue
        weight = times.samples / base.variance
        weighted += weight * math.log(mean / base.mean)
        precision += weight
    return (weighted / precision, precision) if precision > 0.0 else None
