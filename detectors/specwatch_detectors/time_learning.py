"""Learns what a latency sample of one batch bucket takes: its mean, and how far means of intervals spread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from specwatch_detectors.design_effect import BatchMeans
from specwatch_detectors.latency_cusum import FLOOR_SD, TimeBaseline, Times
from specwatch_detectors.window import Window

LEAST_INTERVALS: Final = 60
NEEDS: Final = math.log(1.1) / 12.0
"""Relative error of a mean at which it may be judged against: a sixth of half the smallest change looked for."""

PRIOR: Final = 7.5
"""Relative variance of one sample until it is measured: tokens spread by half their mean, 30 hang together."""

LEAST: Final = 0.01


class TimeLearning:
    """Mean and spread of the latency of one batch bucket.

    The spread is that of batch means (`design_effect.py`) with samples for drafts and seconds for accepted tokens:
    Var(S_b - m n_b) / (mean n_b m^2), the largest over several spans, so that samples that hang together count.

    Args:
        state: what `state` of a predecessor gave.
    """

    __slots__ = ("_intervals", "_samples", "_seconds", "_spread")

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self._seconds = self._samples = 0.0
        self._intervals = 0
        self._spread = BatchMeans()
        if state is not None:
            self._seconds, self._samples = float(state["seconds"]), float(state["samples"])
            self._intervals = int(state["intervals"])
            self._spread = BatchMeans(state["spread"])

    def update(self, times: Times, *, mean_too: bool) -> None:
        """Take one interval with samples in; the spread goes on being measured once the mean is frozen."""
        self._spread.update(Window(times.samples, accepted_tokens=times.seconds))
        if mean_too:
            self._seconds += times.seconds
            self._samples += times.samples
            self._intervals += 1

    def ripe(self, safety: float) -> bool:
        """The mean is known well enough to judge against."""
        if self._intervals < LEAST_INTERVALS:
            return False
        variance = self.baseline(safety).variance / self._samples + FLOOR_SD**2 / self._intervals
        return math.sqrt(variance) <= NEEDS

    def baseline(self, safety: float) -> TimeBaseline:
        """The baseline as known by now.

        Args:
            safety: factor on the measured variance.

        Raises:
            ZeroDivisionError: before any sample.
        """
        mean = self._seconds / self._samples
        seen = self._spread.estimate(mean**2)
        return TimeBaseline(mean, safety * max(LEAST, PRIOR if seen is None else seen))

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "seconds": self._seconds,
            "samples": self._samples,
            "intervals": self._intervals,
            "spread": self._spread.state(),
        }
