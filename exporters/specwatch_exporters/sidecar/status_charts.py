"""The status page's charts: SVG without scripts, styles or anything from outside.

Sizes are attributes and colours are classes, so that a strict content policy leaves them alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from specwatch_exporters.sidecar.status_text import known, plain, share_text

MAX_POSITIONS = 32
_WIDTH, _HEIGHT = 380, 206
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 6, 10, 54
_MANY = 8
_SPARK_WIDTH, _SPARK_HEIGHT = 300, 56


def positions_chart(
    unconditional: Sequence[float | None],
    conditional: Sequence[float | None] = (),
    baseline: Sequence[float | None] = (),
    baseline_name: str = "baseline",
) -> str:
    """Acceptance by position: bars for p_j, diamonds for q_j, a dashed line for the baseline.

    Args:
        unconditional: p_j, 0 to 1, None where unknown.
        conditional: q_j.
        baseline: p_j to compare with.
        baseline_name: where the baseline comes from.
    """
    count = min(len(unconditional), MAX_POSITIONS)
    step = (_WIDTH - _LEFT - _RIGHT) / max(count, 1)
    parts = [_grid()]
    for index in range(count):
        middle = _LEFT + step * (index + 0.5)
        parts.append(_bar(unconditional[index], middle, min(46.0, step * 0.6), index))
        parts.append(_reference(_at(baseline, index), middle, step))
        parts.append(_diamond(_at(conditional, index), middle, min(5.0, step * 0.3)))
        parts.append(_tick(index, unconditional[index], middle, count))
    axis = f"draft position{f', first {count} of {len(unconditional)}' if count < len(unconditional) else ''}"
    parts.append(
        f'<text class="axis" x="{(_WIDTH + _LEFT) / 2:g}" y="{_HEIGHT - 5}" text-anchor="middle">{axis}</text>'
    )
    summary = escape(_summary(unconditional[:count], conditional, baseline, plain(baseline_name, 40)))
    return (
        f'<svg class="positions" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{summary}">'
        f"{''.join(parts)}</svg>"
    )


def _at(values: Sequence[float | None], index: int) -> float | None:
    return values[index] if index < len(values) else None


def _y(value: float) -> float:
    inside = _HEIGHT - _TOP - _BOTTOM
    return round(_TOP + inside * (1 - min(max(value, 0.0), 1.0)), 1)


def _grid() -> str:
    lines = []
    for value in (0.0, 0.5, 1.0):
        y = _y(value)
        kind = "base" if value == 0 else "rule"
        lines.append(f'<line class="{kind}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        lines.append(f'<text class="axis" x="{_LEFT - 6}" y="{y + 3.5:g}" text-anchor="end">{value:.0%}</text>')
    return "".join(lines)


def _bar(value: float | None, middle: float, width: float, index: int) -> str:
    if value is None or not math.isfinite(value):
        return f'<text class="axis" x="{middle:.1f}" y="{_y(0) - 5:g}" text-anchor="middle">\N{EM DASH}</text>'
    top, bottom = _y(value), _y(0)
    left, right = middle - width / 2, middle + width / 2
    round_ = min(4.0, width / 2, bottom - top)
    path = (
        f"M{left:.1f} {bottom}V{top + round_:.1f}Q{left:.1f} {top} {left + round_:.1f} {top}"
        f"H{right - round_:.1f}Q{right:.1f} {top} {right:.1f} {top + round_:.1f}V{bottom}Z"
    )
    return f'<path class="bar" d="{path}"><title>position {index}: {share_text(value)}</title></path>'


def _reference(value: float | None, middle: float, step: float) -> str:
    if value is None or not math.isfinite(value):
        return ""
    y, half = _y(value), step * 0.42
    return f'<line class="reference" x1="{middle - half:.1f}" x2="{middle + half:.1f}" y1="{y}" y2="{y}"/>'


def _diamond(value: float | None, middle: float, half: float) -> str:
    if value is None or not math.isfinite(value):
        return ""
    y = _y(value)
    corners = ((middle, y - half), (middle + half, y), (middle, y + half), (middle - half, y))
    points = " ".join(f"{x:.1f},{height:.1f}" for x, height in corners)
    return f'<polygon class="mark" points="{points}"><title>conditional: {share_text(value)}</title></polygon>'


def _tick(index: int, value: float | None, middle: float, count: int) -> str:
    every = max(1, math.ceil(count / 16))
    if index % every:
        return ""
    y = _y(0)
    name = f'<text class="axis" x="{middle:.1f}" y="{y + 15:g}" text-anchor="middle">{index}</text>'
    if count > _MANY:
        return name
    shown = f"{value:.0%}" if value is not None and math.isfinite(value) else "\N{EM DASH}"
    return name + f'<text class="value" x="{middle:.1f}" y="{y + 31:g}" text-anchor="middle">{shown}</text>'


def _summary(
    unconditional: Sequence[float | None],
    conditional: Sequence[float | None],
    baseline: Sequence[float | None],
    baseline_name: str,
) -> str:
    """The chart in words, for those who do not see it."""
    rows = []
    for index, value in enumerate(unconditional):
        row = f"position {index}: {share_text(value)}"
        if known(_at(conditional, index)):
            row += f", conditional {share_text(_at(conditional, index))}"
        if known(_at(baseline, index)):
            row += f", {baseline_name} {share_text(_at(baseline, index))}"
        rows.append(row)
    return f"Acceptance by position. {'; '.join(rows) or 'Unknown'}."


def sparkline(points: Sequence[tuple[float, float | None]], span_s: float, name: str, floor: float = 0.0) -> str:
    """A line over time; unknown values are gaps.

    Args:
        points: (seconds ago, value), oldest first.
        span_s: how many seconds the width stands for.
        name: what it shows, for those who do not see it.
        floor: lowest value of the scale.

    Returns:
        SVG, or nothing if there is no known value.
    """
    shown = [(age, value) for age, value in points if 0 <= age <= span_s]
    values = [value for _, value in shown if value is not None and math.isfinite(value)]
    if not values:
        return ""
    top = max(*values, floor + 1.0) * 1.08
    lines, dot = _strokes(shown, span_s, floor, top)
    words = escape(f"{name}: from {min(values):.4g} to {max(values):.4g}, last {values[-1]:.4g}")
    return (
        f'<svg class="spark" viewBox="0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{words}"><line class="base" x1="0" x2="{_SPARK_WIDTH}" y1="{_SPARK_HEIGHT - 1}" '
        f'y2="{_SPARK_HEIGHT - 1}"/>{lines}{dot}</svg>'
    )


def _strokes(
    points: Sequence[tuple[float, float | None]], span_s: float, floor: float, top: float
) -> tuple[str, str]:
    """Line segments between gaps, each with the area under it, and a mark on the newest value."""
    runs: list[list[str]] = [[]]
    newest = ""
    for age, value in points:
        if value is None or not math.isfinite(value):
            runs.append([])
            continue
        x = _SPARK_WIDTH * (1 - age / span_s)
        y = 2 + (_SPARK_HEIGHT - 4) * (1 - (min(max(value, floor), top) - floor) / (top - floor))
        newest = f"{x:.1f} {y:.1f}"
        runs[-1].append(newest)
    base = _SPARK_HEIGHT - 1
    drawn = []
    for run in filter(None, runs):
        first, last = run[0].split()[0], run[-1].split()[0]
        line = " L".join(run)
        drawn.append(f'<path class="area" d="M{first} {base} L{line} L{last} {base}Z"/>')
        drawn.append(f'<path class="line" d="M{line}{"h0.1" if len(run) == 1 else ""}"/>')
    return "".join(drawn), f'<path class="newest" d="M{newest}h0.1"/>'


def meter(value: float | None, name: str) -> str:
    """A share of 0 to 1 as a bar; only the rail when unknown."""
    filled, words = "", f"{name}: unknown"
    if value is not None and math.isfinite(value):
        width = min(max(value, 0.0), 1.0) * 100
        filled, words = f'<rect class="fill" width="{width:.1f}" height="6"/>', f"{name}: {share_text(value)}"
    return (
        '<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(words)}">'
        f'<rect class="rail" width="100" height="6"/>{filled}</svg>'
    )
