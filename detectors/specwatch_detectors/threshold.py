"""Thresholds from a budget of false alarms, and the least delay that any detector with that budget can have.

Sources: Lorden 1971 (mean time between false alarms at least exp(h), delay at least ln(ARL) / I); Siegmund 1985;
the optimum for a Brownian motion, exact at finite ARL: Shiryaev 1963, Moustakides 1986.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_detectors.chain import information

MONTH_S: Final = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Budget:
    """How often a page may come for nothing.

    Attributes:
        pages: false pages allowed per 30 days.
        interval_s: seconds between observations.
        statistics: statistics on one stream that can page; their false alarms add.
        streams: pods (or classes) that share the budget; 1 if each has its own.
    """

    pages: float = 1.0
    interval_s: float = 10.0
    statistics: int = 3
    streams: int = 1

    def __post_init__(self) -> None:
        if not self.pages > 0.0 or not self.interval_s > 0.0 or self.statistics < 1 or self.streams < 1:
            raise ValueError("pages and interval_s must be positive, statistics and streams at least 1")

    @property
    def run_length(self) -> float:
        """Mean intervals between false alarms that each statistic must keep (ARL0)."""
        return max(math.e, self.statistics * self.streams * MONTH_S / self.interval_s / self.pages)

    @property
    def threshold(self) -> float:
        """H = ln(ARL0) in nats; 13.56 for one page in 30 days, 10 s and three statistics."""
        return math.log(self.run_length)


def information_rate(after: Sequence[float], before: Sequence[float], drafts: float, design: float) -> float:
    """Evidence that one interval brings when the draft is `after`, in nats.

    Args:
        after: conditional acceptances after the change.
        before: those of the baseline.
        drafts: draft steps in one interval.
        design: design effect, relative to the chain's variance; without it the bound below looks unreachable.
    """
    return drafts / design * information(after, before)


def lorden_delay(run_length: float, rate: float) -> float:
    """Least mean delay in intervals, to first order: ln(ARL0) / I, at least one; infinite without evidence."""
    return max(1.0, math.log(run_length) / rate) if rate > 0.0 else math.inf


def optimal_delay(run_length: float, rate: float) -> float:
    """Least mean delay in intervals at a finite ARL0, for evidence that grows as a Brownian motion of drift I.

    With D = 2 I: solve e^b - b - 1 = ARL0 D / 2, then (2 / D)(e^-b + b - 1); at least one interval.
    """
    if not rate > 0.0:
        return math.inf
    drift = 2.0 * rate
    target = run_length * drift / 2.0
    low, high = 0.0, 1.0
    while math.expm1(high) - high < target:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if math.expm1(middle) - middle < target else (low, middle)
    barrier = (low + high) / 2.0
    return max(1.0, 2.0 / drift * (math.exp(-barrier) + barrier - 1.0))
