"""A mean of independent measurements with Student's interval."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95 %, by degrees of freedom from 1.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_T_LARGE = 1.96 + 2.5 / len(_T)  # above the true value from 11 degrees on


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over repetitions and half the width of its 95 % interval, None with fewer than two."""

    value: float
    half: float | None

    def __str__(self) -> str:
        return f"{self.value:.3f}" + ("" if self.half is None else f" ± {self.half:.3f}")


def mean_of(values: Sequence[float]) -> Mean:
    """Mean and Student's interval of independent measurements."""
    count, mean = len(values), statistics.fmean(values)
    if count < 2:
        return Mean(mean, None)
    quantile = _T[count - 2] if count - 2 < len(_T) else _T_LARGE
    return Mean(mean, quantile * statistics.stdev(values) / count**0.5)
