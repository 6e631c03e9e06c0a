"""States over time: bands with their name inside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from specwatch_dashboards.preview import svg
from specwatch_dashboards.preview.chart_frame import TOP, Room, mark_lines, time_axis
from specwatch_dashboards.preview.line_chart import Line, runs
from specwatch_dashboards.preview.marks import Kind
from specwatch_dashboards.preview.time_span import Span

_NAME_SHARE: Final = 0.3
_LEAST_ROW: Final = 14.0
_PADDING: Final = 8.0
LEGEND_PX: Final = 18
Band = tuple[float, float, float]


def state_chart(
    rows: Sequence[Line], size: tuple[float, float], span: Span, step_s: float, kinds: Sequence[Kind]
) -> str:
    """The picture of a state timeline: one row per series.

    Args:
        rows: from the top; at least one.
        size: pixels, width and height.
        span: the times.
        step_s: seconds between points; a longer distance is a gap.
        kinds: events.
    """
    names = max(svg.width_of(row.name) for row in rows)
    room = Room(size[0], size[1], min(names, size[0] * _NAME_SHARE) + 14)
    fits = max(1, int((room.bottom - TOP) / _LEAST_ROW))
    drawn = rows if len(rows) <= fits else rows[: fits - 1]
    height = (room.bottom - TOP) / min(len(rows), fits)
    parts = time_axis(room, span)
    if len(drawn) < len(rows):
        parts.append(svg.text(room.right, room.bottom - 3, f"{len(rows) - len(drawn)} more", "end"))
    for number, row in enumerate(drawn):
        top = TOP + number * height
        parts.append(svg.text(room.left - 6, top + height / 2 + 4, svg.cut(row.name, room.left - 8), "end"))
        parts += _bands(row, room, span, (top, height), step_s)
    parts += mark_lines(room, span, kinds)
    return svg.drawing(*size, parts, ", ".join(row.name for row in rows))


def states_of(rows: Sequence[Line]) -> str:
    """The states that are seen, as a legend: bands too short for their name have it here."""
    seen = {value: row.field for row in rows for _, value in row.points if math.isfinite(value)}
    keys = ""
    for value, field in sorted(seen.items(), key=lambda pair: pair[0]):
        keys += (
            f'<span class="key"><i style="background:{field.color(value)}"></i>{escape(field.text(value))}</span>'
        )
    return f'<div class="legend" style="height:{LEGEND_PX}px">{keys}</div>'


def _bands(row: Line, room: Room, span: Span, place: tuple[float, float], step_s: float) -> list[str]:
    times = room.times(span)
    top, height = place[0] + 2, place[1] - 4
    parts = []
    for start, end, value in merged(row, step_s):
        left, right = times.at(start), times.at(end)
        words, color = row.field.text(value), row.field.color(value)
        parts.append(svg.box(left, top, right - left, height, "band", color, f"{row.name}: {words}"))
        shown = svg.cut(words, right - left - _PADDING)
        if shown:
            parts.append(svg.text(left + _PADDING / 2, top + height / 2 + 4, shown, kind="inside"))
    return parts


def merged(row: Line, step_s: float) -> list[Band]:
    """Start, end and value of each state; a state lasts until the next point, or one step."""
    found: list[Band] = []
    for run in runs(row.points, step_s):
        for place, (at, value) in enumerate(run):
            end = run[place + 1][0] if place + 1 < len(run) else at + step_s
            if place and found[-1][2] == value:
                found[-1] = (found[-1][0], end, value)
            else:
                found.append((at, end, value))
    return found
