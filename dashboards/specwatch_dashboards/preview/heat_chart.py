"""A histogram over time: a cell per bucket and step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from specwatch_dashboards.preview import svg
from specwatch_dashboards.preview.chart_frame import TOP, Room, mark_lines, time_axis
from specwatch_dashboards.preview.marks import Kind
from specwatch_dashboards.preview.number_text import shown
from specwatch_dashboards.preview.series import Named
from specwatch_dashboards.preview.time_span import Span

SHADES: Final = 8
_LEGEND: Final = 24.0
_PER_MARK_PX: Final = 16.0
Bucket = tuple[float, Mapping[float, float]]


def heat_chart(
    rows: Sequence[Named],
    options: Mapping[str, Any],
    size: tuple[float, float],
    span: Span,
    step_s: float,
    kinds: Sequence[Kind],
) -> str:
    """The picture of a heat map.

    Args:
        rows: cumulative counts, named by their upper bound; at least one.
        options: of the panel.
        size: pixels, width and height.
        span: the times.
        step_s: seconds between points.
        kinds: events.
    """
    buckets = separate(rows)
    least = float(options.get("filterValues", {}).get("le", -math.inf))
    counts = [value for _, cells in buckets for value in cells.values() if value > least]
    most = max(counts, default=0.0)
    unit = options.get("yAxis", {}).get("unit", "short")
    words = ["+Inf" if math.isinf(edge) else shown(edge, unit) for edge, _ in buckets]
    room = Room(size[0], size[1] - _LEGEND, 12 + max(svg.width_of(each) for each in words))
    parts = [*time_axis(room, span), *_edges(words, room)]
    parts += _cells(buckets, options, room, span, step_s, (least, most))
    parts += mark_lines(room, span, kinds)
    counted = options.get("cellValues", {}).get("unit", "short")
    parts += _legend(room, size[1], shown(most, counted))
    return svg.drawing(*size, parts, "counts by bucket over time, darker where more is")


def separate(rows: Sequence[Named]) -> list[Bucket]:
    """Upper bound and counts of each bucket alone, from the lowest; counts come in with those below."""
    bounds = sorted((_bound(row.name), dict(row.series.points)) for row in rows)
    below: Mapping[float, float] = {}
    found: list[Bucket] = []
    for edge, counts in bounds:
        found.append((edge, {at: max(0.0, value - below.get(at, 0.0)) for at, value in counts.items()}))
        below = counts
    return found


def _bound(name: str) -> float:
    try:
        return float(name)
    except ValueError:
        return math.inf


def _row_height(room: Room, buckets: int) -> float:
    return (room.bottom - TOP) / buckets


def _edges(words: Sequence[str], room: Room) -> list[str]:
    """Upper bounds at the upper edges of their rows, as many as can be read."""
    height = _row_height(room, len(words))
    each = max(1, math.ceil(_PER_MARK_PX / height))
    return [
        svg.text(room.left - 6, room.bottom - (at + 1) * height + 4, text, "end")
        for at, text in enumerate(words)
        if at % each == each - 1 or each == 1
    ]


def _cells(
    buckets: Sequence[Bucket],
    options: Mapping[str, Any],
    room: Room,
    span: Span,
    step_s: float,
    ends: tuple[float, float],
) -> list[str]:
    least, most = ends
    exponent = float(options.get("color", {}).get("exponent", 0.5))
    gap = float(options.get("cellGap", 1))
    height = _row_height(room, len(buckets))
    times = room.times(span)
    parts = []
    for number, (_, cells) in enumerate(buckets):
        for at, value in cells.items():
            if value <= least or not most or not math.isfinite(value):
                continue
            shade = min(SHADES - 1, int(SHADES * (value / most) ** exponent))
            left, right = times.at(at - step_s), times.at(at)
            y = room.bottom - (number + 1) * height
            parts.append(
                f'<rect class="heat{shade}" x="{left:g}" y="{y + gap / 2:.1f}" '
                f'width="{max(0.6, right - left - gap):.1f}" height="{max(0.6, height - gap):.1f}"/>'
            )
    return parts


def _legend(room: Room, height: float, most: str) -> list[str]:
    """What the shades mean; below the field, or further left where it would not fit."""
    top, width = height - 17, 15.0
    left = max(0.0, min(room.left, room.width - 20 - SHADES * width - svg.width_of(most)))
    first = left + 14
    shades = [svg.box(first + shade * width, top, width, 10, f"heat{shade}") for shade in range(SHADES)]
    return [svg.text(left, height - 8, "0"), *shades, svg.text(first + 6 + SHADES * width, height - 8, most)]
