"""How far the tail reaches: p50, p95 and p99 as one bar per engine and batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from specwatch_bench.report_chart import Axes, finished, framed
from specwatch_bench.report_words import number
from specwatch_dashboards.preview import svg

_BAR: Final = 11.0


@dataclass(frozen=True, slots=True)
class Tail:
    """One bar.

    Attributes:
        place: batch size.
        p50: lower end.
        p95: a mark across.
        p99: upper end.
        short: too few requests, so the upper end is a lower limit.
    """

    place: int
    p50: float
    p95: float
    p99: float
    short: bool


def tail_chart(series: Sequence[tuple[str, str, int, Sequence[Tail]]], axes: Axes) -> str:
    """Bars side by side.

    Args:
        series: name, colour, number of the symbol, bars.
        axes: see `Axes`.
    """
    seen = [value for _, _, _, tails in series for tail in tails for value in (tail.p50, tail.p99)]
    frame, parts = framed(seen, axes)
    for at, (name, color, shape, tails) in enumerate(series):
        for tail in tails:
            x = frame.places[tail.place] + (at - (len(series) - 1) / 2) * (_BAR + 3)
            top, middle, low = (frame.values.at(each) for each in (tail.p99, tail.p95, tail.p50))
            words = f"p50 {number(tail.p50)}, p95 {number(tail.p95)}, p99 {number(tail.p99)}"
            end = f"M{x - 4:g} {top - 2:g}l4 -6l4 6" if tail.short else f"M{x - 5:g} {top:g}h10"
            parts.append(
                f"<g><title>{escape(name)} at {tail.place}: {words}{' or more' if tail.short else ''}</title>"
                f'<path class="tail" stroke="{color}" d="M{x:g} {low:g}V{top:g}"/>'
                f'<path class="tick" stroke="{color}" d="M{x - 4:g} {middle:g}h8{end}"/>'
                f"{svg.symbol(shape, round(x, 1), low, color)}</g>"
            )
    return finished(parts, [(name, color, shape) for name, color, shape, _ in series], axes)
