"""Step time over batch size, between and a little beyond the sizes that were measured."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

REACH: Final = 4.0
"""How far beyond the measured batch sizes a curve is followed, as a factor. Past it the answer is unknown."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value of a curve.

    Attributes:
        value: in the curve's unit.
        extrapolated: the batch lies outside the measured sizes.
    """

    value: float
    extrapolated: bool


class StepCurve:
    """Values at measured batch sizes with straight lines between them.

    A step's time is linear in its tokens as long as one resource limits it (weights, compute or KV reads), so lines
    are right inside a regime and a little high where two meet. Beyond the largest size the last line goes on, flat
    if it falls; below the smallest the first value stays. Both are marked.

    Args:
        batches: ascending sizes, at least two.
        values: as many.

    Raises:
        ValueError: sizes do not ascend, are below 1, fewer than two, or values are not finite and positive.
    """

    __slots__ = ("batches", "values")

    def __init__(self, batches: Sequence[float], values: Sequence[float]) -> None:
        if len(batches) != len(values) or len(batches) < 2:
            raise ValueError("a curve needs two batch sizes or more and one value for each")
        if any(not math.isfinite(size) or size < 1.0 for size in batches) or any(
            after <= before for before, after in pairwise(batches)
        ):
            raise ValueError("batch sizes must ascend from 1 or more")
        if any(not math.isfinite(value) or value <= 0.0 for value in values):
            raise ValueError("values of a curve must be positive numbers")
        self.batches = tuple(map(float, batches))
        self.values = tuple(map(float, values))

    def at(self, batch: float) -> Point | None:
        """The value at a batch size, or None more than 4 times beyond the measured ones."""
        size = max(1.0, batch)
        first, last = self.batches[0], self.batches[-1]
        if not first / REACH <= size <= last * REACH:
            return None
        if size <= first:
            return Point(self.values[0], size < first)
        left = min(bisect_right(self.batches, size) - 1, len(self.batches) - 2)
        rise = self.values[left + 1] - self.values[left]
        slope = rise / (self.batches[left + 1] - self.batches[left])
        if size <= last:
            return Point(self.values[left] + (size - self.batches[left]) * slope, extrapolated=False)
        return Point(self.values[-1] + (size - last) * max(0.0, slope), extrapolated=True)
