"""Axes: from numbers to pixels, and the marks beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from specwatch_dashboards.preview.time_span import Span

_TIMES: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
# Distances of marks of durations: quarters of a minute, minutes, hours.
_CLOCK: Final = (15.0, 30.0, *(60.0 * each for each in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)))
_DAY_S: Final = 86_400.0
_WEEK_S: Final = 7 * _DAY_S
_SMALLEST: Final = 1e-300
"""What is nearer to 0 is drawn as 0: powers of ten and fifths of it are not numbers of full precision any more."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis.

    Attributes:
        low: number at the first pixel.
        high: number at the last pixel, above `low`.
        first: pixel.
        last: pixel; below `first` for an axis that goes up.
        logarithmic: powers of ten are equally far apart; both ends are above 0 then.
    """

    low: float
    high: float
    first: float
    last: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Pixel of a number; one outside is put on the end."""
        inside = min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high = math.log(self.low), math.log(self.high)
            share = (math.log(inside) - low) / (high - low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return round(self.first + share * (self.last - self.first), 1)


def nice_step(width: float, most: int, unit: str = "") -> float:
    """Distance of marks, with at most so many in the width.

    Returns:
        1, 2 or 5 times a power of ten; of seconds, from 15 on, what clocks have.
    """
    raw = width / max(1, most)
    if unit == "s" and raw > _DAY_S:
        return _DAY_S * nice_step(width / _DAY_S, most)
    if unit == "s" and raw > _CLOCK[0] * 2 / 3:
        return next(each for each in _CLOCK if each >= raw * (1 - 1e-9))
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= raw * (1 - 1e-9))


def marks_of(low: float, high: float, most: int, unit: str = "") -> list[float]:
    """Round numbers from the lower to the upper end."""
    step = nice_step(high - low, most, unit)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{each * step:.12g}") for each in range(first, last + 1)]


def log_marks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten within, at most so many and one."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [10.0**power for power in range(first, last + 1, max(1, math.ceil((last - first) / most)))]


def linear_ends(
    values: Sequence[float],
    low: float | None,
    high: float | None,
    soft_low: float | None,
    soft_high: float | None,
    unit: str = "",
) -> tuple[float, float]:
    """Ends of an axis that holds all values; fixed ends stay, others give way and are made round.

    Args:
        values: all of them numbers; may be empty.
        low: fixed lower end.
        high: fixed upper end.
        soft_low: lower end that gives way to smaller values.
        soft_high: upper end that gives way to larger values.
        unit: Grafana's name; seconds are rounded as on clocks.
    """
    seen = [*values, *(soft for soft in (soft_low, soft_high) if soft is not None)] or [0.0, 1.0]
    bottom = min(seen) if low is None else low
    top = max(seen) if high is None else high
    if top - bottom < _SMALLEST:
        widened = abs(bottom) * 0.5 if abs(bottom) >= _SMALLEST else 1.0
        bottom, top = (bottom if low is not None else bottom - widened), bottom + widened
    step = nice_step(top - bottom, 5, unit)
    if low is None:
        bottom = math.floor(bottom / step + 1e-9) * step
    if high is None:
        top = math.ceil(top / step - 1e-9) * step
    return bottom, top


def log_ends(values: Sequence[float]) -> tuple[float, float]:
    """Whole powers of ten around the values above 0."""
    above = [value for value in values if value >= _SMALLEST] or [1.0]
    low, high = math.floor(math.log10(min(above))), math.ceil(math.log10(max(above)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _width_of(step: float) -> float:
    """Pixels from one text to the next: seconds need more."""
    return 60.0 if step >= 60 else 80.0


def time_marks(span: Span, width: float) -> list[tuple[float, str]]:
    """Round times, far enough apart to be read, with their texts in UTC."""
    per_px = span.length_s / width
    weeks = max(1, math.ceil(per_px * _width_of(_DAY_S) / _WEEK_S))
    step = next((each for each in _TIMES if each >= per_px * _width_of(each)), weeks * _WEEK_S)
    first = math.ceil(span.start / step)
    times = [each * step for each in range(first, math.floor(span.end / step) + 1)]
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < _DAY_S else "%m-%d"
    return [(at, datetime.fromtimestamp(at, UTC).strftime(form)) for at in times]
