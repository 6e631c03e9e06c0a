"""What Prometheus answers to a query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer.

    Attributes:
        labels: by name, the metric's name is `__name__`.
        points: epoch seconds and value, in order; a value may be NaN.
    """

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def last(self) -> float | None:
        """Last value that is a number; None without one."""
        return next((value for _, value in reversed(self.points) if not math.isnan(value)), None)


@dataclass(frozen=True, slots=True)
class Named:
    """A series with the name that the panel gives it.

    Attributes:
        name: as in the legend.
        series: the numbers.
    """

    name: str
    series: Series
