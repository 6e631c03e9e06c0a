"""Mean step time with its standard error, from the sums and counts of a histogram, interval by interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_INTERVALS: Final = 8
LEAST_SAMPLES: Final = 200.0


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Gaps between outputs of one request (so steps), or times per token, added up over intervals.

    Requests in one step share its time and neighbouring steps resemble each other, so samples are no measure of
    certainty. The error comes from how interval means differ (a ratio estimator over intervals).

    Attributes:
        intervals: with samples in them.
        count: samples.
        seconds: their sum.
        count2: sum over intervals of count squared.
        seconds2: of seconds squared.
        cross: of seconds times count.
        batch_weighted: sum of count times mean batch.
        last: time of the last interval, seconds; 0 before any.
    """

    intervals: float = 0.0
    count: float = 0.0
    seconds: float = 0.0
    count2: float = 0.0
    seconds2: float = 0.0
    cross: float = 0.0
    batch_weighted: float = 0.0
    last: float = 0.0

    def observed(self, count: float, seconds: float, batch: float, now: float) -> StepTimes:
        """With one more interval.

        Args:
            count: increase of the histogram's count.
            seconds: increase of its sum.
            batch: mean batch size of the interval.
            now: its end.

        Raises:
            ValueError: an increase is negative or no number.
        """
        if not all(math.isfinite(value) and value >= 0.0 for value in (count, seconds, batch)):
            raise ValueError("count, seconds and batch of an interval are numbers and not negative")
        if count <= 0.0:
            return self
        return StepTimes(
            self.intervals + 1.0,
            self.count + count,
            self.seconds + seconds,
            self.count2 + count**2,
            self.seconds2 + seconds**2,
            self.cross + seconds * count,
            self.batch_weighted + batch * count,
            max(self.last, now),
        )

    @property
    def mean(self) -> float | None:
        """Seconds per sample; None without any."""
        return self.seconds / self.count if self.count and self.seconds else None

    @property
    def batch(self) -> float | None:
        """Mean batch size, weighted by samples; None without any."""
        return self.batch_weighted / self.count if self.count else None

    @property
    def relative_error(self) -> float | None:
        """Standard error of the mean over the mean; None under 8 intervals."""
        if self.intervals < LEAST_INTERVALS or not self.seconds:
            return None
        mean = self.seconds / self.count
        residual = max(0.0, self.seconds2 - 2.0 * mean * self.cross + mean**2 * self.count2)
        return math.sqrt(residual * self.intervals / (self.intervals - 1.0)) / self.seconds

    @property
    def lacking(self) -> str | None:
        """What is missing before this can be used, or None."""
        if self.count < LEAST_SAMPLES or self.intervals < LEAST_INTERVALS or not self.seconds:
            return (
                f"{self.count:.0f} samples in {self.intervals:.0f} intervals "
                f"({LEAST_SAMPLES:.0f} in {LEAST_INTERVALS} are needed)"
            )
        return None

    def as_list(self) -> list[float]:
        """All numbers, for a state."""
        return [
            self.intervals,
            self.count,
            self.seconds,
            self.count2,
            self.seconds2,
            self.cross,
            self.batch_weighted,
            self.last,
        ]

    @classmethod
    def from_list(cls, values: Sequence[float]) -> StepTimes:
        """Read what `as_list` wrote.

        Raises:
            ValueError: another number of values, or one that is negative or no number.
        """
        numbers = [float(value) for value in values]
        if len(numbers) != 8 or not all(math.isfinite(value) and value >= 0.0 for value in numbers):
            raise ValueError("not step times: 8 numbers, none negative, are needed")
        return cls(*numbers)
