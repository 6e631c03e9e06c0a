"""No text of a chart lies over another one or leaves the picture, whatever is drawn."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from specwatch_dashboards.preview.field import Field
from specwatch_dashboards.preview.heat_chart import heat_chart
from specwatch_dashboards.preview.line_chart import Line, line_chart
from specwatch_dashboards.preview.marks import Kind, Mark
from specwatch_dashboards.preview.series import Named, Series
from specwatch_dashboards.preview.state_chart import state_chart
from specwatch_dashboards.preview.svg import width_of
from specwatch_dashboards.preview.time_span import Span

ABOVE_PX: Final = 9.0
"""Of a letter over its base line; below it is little."""
BELOW_PX: Final = 2.0
TEXT: Final = re.compile(r'<text class="\w+" x="([^"]+)" y="([^"]+)" text-anchor="(\w+)">([^<]+)<')
SIZES: Final = st.tuples(st.floats(214.0, 1400.0), st.floats(90.0, 400.0))
UNITS: Final = st.sampled_from(("none", "s", "percentunit", "suffix: tok/s", "currencyUSD", "watt", "bytes"))
NUMBERS: Final = st.floats(-1e300, 1e300, allow_nan=False) | st.sampled_from((0.0, 1.0, 59.0, 61.0, 3601.0))
MOMENT: Final[tuple[Span, tuple[Kind, ...]]] = (Span(1.7e9, 1.7e9 + 10), ())
Box = tuple[float, float, float, float, str]


@st.composite
def spans(draw: st.DrawFn) -> tuple[Span, tuple[Kind, ...]]:
    """A time and events in it, of up to five kinds."""
    start, length = draw(st.floats(1.7e9, 1.8e9)), draw(st.floats(10.0, 3e6))
    shares = draw(st.lists(st.tuples(st.sampled_from("ABCDE"), st.floats(0.0, 1.0)), max_size=12))
    kinds = tuple(
        Kind(
            letter,
            letter,
            "#000",
            tuple(
                Mark(letter, start + share * length, start + share * length, "x", "#000")
                for each, share in shares
                if each == letter
            ),
        )
        for letter in "ABCDE"
    )
    return Span(start, start + length), kinds


def boxes(drawn: str) -> list[Box]:
    """Left, right, upper and lower edge of each text, and the text."""
    found = []
    for x, y, anchor, words in (match.groups() for match in TEXT.finditer(drawn)):
        left = float(x) - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width_of(words)
        found.append((left, left + width_of(words), float(y) - ABOVE_PX, float(y) + BELOW_PX, words))
    return found


def check(drawn: str, size: tuple[float, float]) -> None:
    """All texts are inside, and no two share a spot."""
    found = boxes(drawn)
    for left, right, upper, lower, words in found:
        assert left >= -1, words
        assert right <= size[0] + 1, words
        assert upper >= -1, words
        assert lower <= size[1] + 1, words
    for one, other in combinations(found, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] + 1 or other[3] <= one[2] + 1
        assert apart, (one, other)


def lines_over(span: Span, values: list[float], field: Field, count: int = 1) -> list[Line]:
    step = span.length_s / len(values)
    points = tuple((span.start + at * step, value) for at, value in enumerate(values))
    return [Line(f"name {number}", points, field, "#000") for number in range(count)]


@given(spans(), SIZES, UNITS, st.lists(NUMBERS, min_size=1, max_size=8), st.none() | st.just(0.0), st.booleans())
@example(when=MOMENT, size=(214.0, 90.0), unit="none", values=[0.0, 5e-324], low=None, logarithmic=False)
@example(when=MOMENT, size=(214.0, 90.0), unit="none", values=[5e-324], low=None, logarithmic=True)
def test_lines(
    when: tuple[Span, tuple[Kind, ...]],
    size: tuple[float, float],
    unit: str,
    values: list[float],
    low: float | None,
    logarithmic: bool,
) -> None:
    scale = {"scaleDistribution": {"type": "log"}} if logarithmic else {}
    panel = Field({"unit": unit} | ({} if low is None else {"min": low}), scale)
    span, kinds = when
    check(line_chart(lines_over(span, values, panel), panel, size, span, span.length_s / 5, kinds), size)


@given(spans(), SIZES, UNITS, st.integers(1, 40))
def test_heat_maps(when: tuple[Span, tuple[Kind, ...]], size: tuple[float, float], unit: str, buckets: int) -> None:
    span, kinds = when
    edges = [*(str(0.001 * 2**at) for at in range(buckets)), "+Inf"]
    rows = [Named(edge, Series({}, ((span.end, float(at)),))) for at, edge in enumerate(edges)]
    check(heat_chart(rows, {"yAxis": {"unit": unit}}, size, span, span.length_s / 5, kinds), size)


@given(spans(), SIZES, st.lists(st.sampled_from((0.0, 1.0, 2.0)), min_size=1, max_size=9), st.integers(1, 40))
def test_states(
    when: tuple[Span, tuple[Kind, ...]], size: tuple[float, float], values: list[float], rows: int
) -> None:
    span, kinds = when
    options = {str(at): {"text": words} for at, words in enumerate(("Cannot tell", "OK", "Drifted"))}
    field = Field({"mappings": [{"type": "value", "options": options}]}, {})
    drawn = state_chart(lines_over(span, values, field, rows), size, span, span.length_s / len(values), kinds)
    check(drawn, size)
    names = sum(words.startswith("name") for *_, words in boxes(drawn))
    assert names == rows or f"{rows - names} more" in drawn
