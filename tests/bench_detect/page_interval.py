"""Rates of false pages with exact bounds: the counts are Poisson."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

MONTH_DAYS: Final = 30.0
MANY: Final = 1000
Z: Final = 1.959964
"""Normal quantile of 97.5 %."""


def at_most(mean: float, count: int) -> float:
    """P(X <= count) for a Poisson variable X."""
    if mean <= 0.0:
        return 1.0
    return min(1.0, sum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(count + 1)))


def exact_bounds(count: int) -> tuple[float, float]:
    """Exact 95 % bounds on the mean of a Poisson variable that was seen to be `count` (Garwood 1936).

    With no event the whole error goes to the upper bound: 3.0 at 95 %. Counts over a thousand: to seven digits
    (Wilson and Hilferty 1931).
    """
    if count > MANY:
        return _cubed(count, -1.0), _cubed(count + 1, 1.0)
    tail = 0.025 if count else 0.05
    lower = _solve(lambda mean: 1.0 - at_most(mean, count - 1) >= tail) if count else 0.0
    upper = _solve(lambda mean: at_most(mean, count) <= tail)
    return lower, upper


def _cubed(count: int, sign: float) -> float:
    return count * (1.0 - 1.0 / (9.0 * count) + sign * Z / (3.0 * math.sqrt(count))) ** 3


def _solve(holds: Callable[[float], bool]) -> float:
    """The least mean at which a condition that stays true holds."""
    low, high = 0.0, 1.0
    while not holds(high):
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def per_month(count: int, days: float) -> tuple[float, float, float]:
    """Events per 30 days, with the exact 95 % bounds."""
    lower, upper = exact_bounds(count)
    scale = MONTH_DAYS / days
    return count * scale, lower * scale, upper * scale
