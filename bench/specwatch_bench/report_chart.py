"""Pictures over the batch size, as SVG whose colours are variables of the page around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from specwatch_bench.profile_table import Range
from specwatch_bench.report_words import number
from specwatch_dashboards.preview import svg
from specwatch_dashboards.preview.scale import Scale, linear_ends, marks_of

WIDTH: Final = 380.0
_FIELD: Final = 210.0
_TOP: Final = 12.0
_AXIS: Final = 36.0
_RIGHT: Final = 12.0
_ROW: Final = 18.0
_DODGE: Final = 5.0
OFF_COLOR: Final = "var(--off)"


@dataclass(frozen=True, slots=True)
class Curve:
    """One line.

    Attributes:
        name: in the legend.
        color: of it.
        shape: number of its symbol.
        points: place on the axis and value with its interval.
        dashed: drawn with dashes.
        free: symbols without a line between them.
    """

    name: str
    color: str
    shape: int
    points: Sequence[tuple[int, Range]]
    dashed: bool = False
    free: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What is around the lines.

    Attributes:
        places: marks of the lower axis, at equal distances.
        below: what they are.
        unit: behind the numbers of the left axis.
        before: in front of them.
        log: the left axis has equal distances for equal factors.
        low: fixed lower end of a left axis that is not logarithmic.
        level: a line across, and what it means.
        words: of the whole picture, for who cannot see it.
    """

    places: Sequence[int]
    below: str
    unit: str = ""
    before: str = ""
    log: bool = False
    low: float | None = 0.0
    level: tuple[float, str] | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where things are drawn: pixels, and the two axes."""

    left: float
    bottom: float
    values: Scale
    places: dict[int, float] = field(default_factory=dict)


def curve_chart(curves: Sequence[Curve], axes: Axes) -> str:
    """Lines with their 95 % intervals, side by side where they have one place."""
    seen = [value for curve in curves for _, found in curve.points for value in (found.lower, found.upper)]
    frame, parts = framed(seen, axes)
    for at, curve in enumerate(curves):
        shift = 0.0 if len(axes.places) < 2 else (at - (len(curves) - 1) / 2) * _DODGE
        parts += _drawn(curve, frame, shift)
    names = [(curve.name, curve.color, curve.shape) for curve in curves]
    return finished(parts, names, axes)


def _drawn(curve: Curve, frame: Frame, shift: float) -> list[str]:
    known = sorted((one for one in curve.points if one[0] in frame.places), key=lambda one: one[0])
    at = [(frame.places[place] + shift, found) for place, found in known]
    parts = []
    for x, found in at:
        parts.append(
            svg.line(x, frame.values.at(found.lower), x, frame.values.at(found.upper), "range", curve.color)
        )
    if not curve.free and len(at) > 1:
        path = "L".join(f"{x:g} {frame.values.at(found.value):g}" for x, found in at)
        dashes = ' stroke-dasharray="5 4"' if curve.dashed else ""
        parts.append(f'<path class="curve" d="M{path}" stroke="{curve.color}"{dashes}/>')
    for x, found in at:
        title = f"<title>{escape(curve.name)}: {number(found.value)}</title>"
        symbol = svg.symbol(curve.shape, round(x, 1), frame.values.at(found.value), curve.color)
        parts.append(f"<g>{title}{symbol}</g>")
    return parts


def framed(seen: Sequence[float], axes: Axes) -> tuple[Frame, list[str]]:
    """Axes around values: lines, marks and texts."""
    known = [value for value in seen if math.isfinite(value)] + ([axes.level[0]] if axes.level else [])
    low, high = _log_ends(known) if axes.log else linear_ends(known, axes.low, None, None, None)
    marks = _log_marks(low, high) if axes.log else marks_of(low, high, 5)
    words = [f"{axes.before}{_mark_words(mark)}{axes.unit}" for mark in marks]
    left = 10.0 + max(svg.width_of(each) for each in words)
    bottom = _TOP + _FIELD
    values = Scale(low, high, bottom, _TOP, logarithmic=axes.log)
    room = (WIDTH - _RIGHT - left) / len(axes.places)
    places = {place: round(left + room * (at + 0.5), 1) for at, place in enumerate(axes.places)}
    parts = []
    for mark, word in zip(marks, words, strict=True):
        y = values.at(mark)
        parts.append(svg.line(left, y, WIDTH - _RIGHT, y, "grid"))
        parts.append(svg.text(left - 5, y + 4, word, "end"))
    parts += [svg.text(x, bottom + 15, str(place), "middle") for place, x in places.items()]
    parts.append(svg.text((left + WIDTH - _RIGHT) / 2, bottom + 30, axes.below, "middle"))
    if axes.level:
        y = values.at(axes.level[0])
        parts.append(svg.line(left, y, WIDTH - _RIGHT, y, "level"))
    return Frame(left, bottom, values, places), parts


def _mark_words(mark: float) -> str:
    return number(mark).rstrip("0").rstrip(".") if mark % 1 else f"{mark:,.0f}"


def finished(parts: list[str], names: Sequence[tuple[str, str, int]], axes: Axes) -> str:
    """The picture with its legend below, in as many rows as it takes."""
    x, row = 6.0, 0
    legend = []
    for name, color, shape in [*names, *([(axes.level[1], "", -1)] if axes.level else [])]:
        width = 18.0 + svg.width_of(name)
        if x > 6.0 and x + width > WIDTH:
            x, row = 6.0, row + 1
        y = _TOP + _FIELD + _AXIS + _ROW * row + 8
        level = svg.line(x, y, x + 11, y, "level")
        legend.append(svg.symbol(shape, x + 5, y, color) if shape >= 0 else level)
        legend.append(svg.text(x + 14, y + 4, name, kind="legend"))
        x += width + 8
    height = _TOP + _FIELD + _AXIS + _ROW * (row + 1) + 4
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(axes.words)}">'
        f"{''.join(parts)}{''.join(legend)}</svg>"
    )


def _log_ends(values: Sequence[float]) -> tuple[float, float]:
    """Numbers 1, 2 or 5 times a power of ten around the values above 0."""
    above = [value for value in values if value > 0] or [1.0]
    low, high = min(above), max(above)
    ends = [_nice(low, up=False), _nice(high, up=True)]
    return ends[0], ends[1] if ends[1] > ends[0] else ends[0] * 10


def _nice(value: float, *, up: bool) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    steps = [power, 2 * power, 5 * power, 10 * power]
    if up:
        return next(step for step in steps if step >= value * (1 - 1e-9))
    return next(step for step in reversed(steps) if step <= value * (1 + 1e-9))


def _log_marks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [each * 10.0**power for power in powers for each in (1, 2, 5)]
    return [float(f"{mark:.12g}") for mark in every if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
