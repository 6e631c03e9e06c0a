"""Lines over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_dashboards.preview import svg
from specwatch_dashboards.preview.chart_frame import BOTTOM, TOP, Room, mark_lines, time_axis, value_axis
from specwatch_dashboards.preview.field import Field
from specwatch_dashboards.preview.marks import Kind
from specwatch_dashboards.preview.number_text import all_shown
from specwatch_dashboards.preview.scale import Scale, linear_ends, log_ends, log_marks, marks_of
from specwatch_dashboards.preview.time_span import Span

Points = Sequence[tuple[float, float]]
_GAP: Final = 1.5
_SYMBOL_EVERY_PX: Final = 110.0
_PER_MARK_PX: Final = 34.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: as in the legend.
        points: epoch seconds and value; NaN and missing steps are gaps.
        field: how it wants to be drawn.
        color: its colour.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    field: Field
    color: str


def line_chart(
    lines: Sequence[Line], panel: Field, size: tuple[float, float], span: Span, step_s: float, kinds: Sequence[Kind]
) -> str:
    """The picture of a time series panel.

    Args:
        lines: in the legend's order; at least one.
        panel: settings without overrides: the axis.
        size: pixels, width and height.
        span: the times.
        step_s: seconds between points; a longer distance is a gap.
        kinds: events.
    """
    drawn = _stacked(lines)
    logarithmic = panel.custom.get("scaleDistribution", {}).get("type") == "log"
    seen = [value for line, _ in drawn for _, value in line.points if math.isfinite(value)]
    low, high = log_ends(seen) if logarithmic else _ends(seen, panel)
    most = max(2, int((size[1] - TOP - BOTTOM) / _PER_MARK_PX))
    marks = log_marks(low, high, most) if logarithmic else marks_of(low, high, most, panel.unit)
    words = all_shown(marks, panel.unit)
    room = Room(size[0], size[1], 10 + max((svg.width_of(each) for each in words), default=30))
    values = Scale(low, high, room.bottom, TOP, logarithmic)
    parts = [*time_axis(room, span), *value_axis(room, values, list(zip(marks, words, strict=True)))]
    parts += mark_lines(room, span, kinds)
    times = room.times(span)
    for at, (line, below) in enumerate(drawn):
        parts.append(_drawn(line, below, times, values, step_s))
        parts += _symbols(line, at, times, values)
    return svg.drawing(*size, parts, ", ".join(line.name for line in lines))


def _ends(seen: Sequence[float], panel: Field) -> tuple[float, float]:
    soft_low, soft_high = panel.custom.get("axisSoftMin"), panel.custom.get("axisSoftMax")
    return linear_ends(seen, panel.low, panel.high, soft_low, soft_high, panel.unit)


def _stacked(lines: Sequence[Line]) -> list[tuple[Line, Points]]:
    """Each line with what lies below its area; stacked ones stand on those before."""
    total: dict[float, float] = {}
    drawn: list[tuple[Line, Points]] = []
    for line in lines:
        if line.field.custom.get("stacking", {}).get("mode") != "normal":
            drawn.append((line, ()))
            continue
        below, raised = [], []
        for at, value in line.points:
            ground = total.get(at, 0.0)
            below.append((at, ground))
            raised.append((at, ground + value))
            total[at] = ground + (value if math.isfinite(value) else 0.0)
        drawn.append((Line(line.name, tuple(raised), line.field, line.color), tuple(below)))
    return drawn


def _drawn(line: Line, below: Points, times: Scale, values: Scale, step_s: float) -> str:
    parts = []
    steps = line.field.custom.get("lineInterpolation") == "stepAfter"
    opacity = float(line.field.custom.get("fillOpacity", 0)) / 100
    dashed = line.field.custom.get("lineStyle", {}).get("fill") == "dash"
    width = line.field.custom.get("lineWidth", 1)
    ground = dict(below)
    for run in runs(line.points, step_s):
        path = _path(run, times, values, steps=steps)
        if opacity:
            floor = [(at, ground.get(at, values.low)) for at, _ in reversed(run)]
            area = f"{path}L{_path(floor, times, values, steps=False)[1:]}Z"
            parts.append(f'<path d="{area}" fill="{line.color}" fill-opacity="{opacity:g}" stroke="none"/>')
        style = ' stroke-dasharray="8 6"' if dashed else ""
        if len(run) == 1:
            path += "h1"
        parts.append(f'<path class="line" d="{path}" stroke="{line.color}" stroke-width="{width}"{style}/>')
    return "".join(parts)


def runs(points: Points, step_s: float) -> list[list[tuple[float, float]]]:
    """Points without gaps between them."""
    found: list[list[tuple[float, float]]] = []
    before = -math.inf
    for at, value in points:
        if not math.isfinite(value):
            before = -math.inf
            continue
        if at - before > _GAP * step_s:
            found.append([])
        found[-1].append((at, value))
        before = at
    return found


def _path(points: Points, times: Scale, values: Scale, *, steps: bool) -> str:
    parts: list[str] = []
    for at, value in points:
        x, y = times.at(at), values.at(value)
        if not parts:
            parts.append(f"M{x:g} {y:g}")
        else:
            parts.append(f"H{x:g}V{y:g}" if steps else f"L{x:g} {y:g}")
    return "".join(parts)


def _symbols(line: Line, number: int, times: Scale, values: Scale) -> list[str]:
    """A shape here and there, at other places for each line."""
    if line.field.custom.get("lineStyle", {}).get("fill") == "dash":
        return []
    parts = []
    free = times.first + 12 + 17.0 * (number % 6)
    for at, value in line.points:
        x = times.at(at)
        if x >= free and math.isfinite(value):
            parts.append(svg.symbol(number, x, values.at(value), line.color))
            free = x + _SYMBOL_EVERY_PX
    return parts
