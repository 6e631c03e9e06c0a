"""Numbers, axes and fields of the preview."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_dashboards.preview.field import Field, colors_of, field_of
from specwatch_dashboards.preview.number_text import all_shown, shown
from specwatch_dashboards.preview.scale import Scale, linear_ends, log_ends, log_marks, marks_of, time_marks
from specwatch_dashboards.preview.svg import cut
from specwatch_dashboards.preview.time_span import Span, SpanError, promql_duration, rate_window, since_of

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "text"),
    [
        (0.0, "none", None, "0"),
        (1.23456, "none", None, "1.23"),
        (1.2, "none", 2, "1.20"),
        (1234.0, "none", None, "1234"),
        (0.000_123, "none", None, "0.000123"),
        (0.4567, "percentunit", None, "45.7%"),
        (45.67, "percent", None, "45.7%"),
        (0.0, "s", None, "0 s"),
        (0.0123, "s", None, "12.3 ms"),
        (0.000_004, "s", None, "4 µs"),
        (1.5, "s", None, "1.5 s"),
        (90.0, "s", None, "1.5 min"),
        (7200.0, "s", None, "2 h"),
        (172_800.0, "s", None, "2 d"),
        (1234.0, "suffix: tok/s", None, "1.23K tok/s"),
        (1.5, "suffix:x", 2, "1.50x"),
        (3.0, "reqps", None, "3 req/s"),
        (4.5, "currencyUSD", None, "$4.5"),
        (-4.5, "currencyUSD", None, "-$4.5"),
        (1500.0, "watt", None, "1.5 kW"),
        (1536.0, "bytes", None, "1.5 KiB"),
        (2.5e6, "short", None, "2.5M"),
        (2.0, "furlongs", None, "2 furlongs"),
        (1.5e300, "none", 2, "1.5e+300"),
        (1.5e-300, "none", None, "1.5e-300"),
        (math.nan, "s", None, "NaN"),
        (math.inf, "s", None, "Inf"),
    ],
)
def test_numbers_are_read_with_their_unit(value: float, unit: str, decimals: int | None, text: str) -> None:
    assert shown(value, unit, decimals) == text


def test_the_marks_of_an_axis_have_one_unit() -> None:
    assert all_shown([0.0, 0.5, 1.0], "s") == ["0", "0.5 s", "1 s"]
    assert all_shown([0.0, 0.02, 0.04], "s") == ["0", "20 ms", "40 ms"]
    assert all_shown([0.0, 0.5], "percentunit") == ["0%", "50%"]


@pytest.mark.parametrize(
    ("longest", "texts"),
    [
        (3.0, ["0", "1 s", "2 s", "3 s"]),
        (31.0, ["0", "10 s", "20 s", "30 s", "40 s"]),
        (59.0, ["0", "0.25 min", "0.5 min", "0.75 min", "1 min"]),
        (77.0, ["0", "0.5 min", "1 min", "1.5 min"]),
        (400.0, ["0", "2 min", "4 min", "6 min", "8 min"]),
        (5000.0, ["0", "0.5 h", "1 h", "1.5 h"]),
        (3e6, ["0", "10 d", "20 d", "30 d", "40 d"]),
    ],
)
def test_durations_are_marked_as_on_clocks(longest: float, texts: list[str]) -> None:
    low, high = linear_ends([longest], 0, None, None, None, "s")
    assert all_shown(marks_of(low, high, 4, "s"), "s") == texts


@given(st.lists(NUMBERS, max_size=20), st.none() | NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS)
def test_an_axis_holds_what_it_shows(
    values: list[float], low: float | None, soft_low: float | None, soft_high: float | None
) -> None:
    bottom, top = linear_ends(values, low, None, soft_low, soft_high)
    assert bottom < top
    room = max(abs(bottom), abs(top)) * 1e-6
    assert all(value <= top + room for value in values)
    assert all(value >= bottom - room for value in values if low is None)
    assert low is None or bottom == low
    marks = marks_of(bottom, top, 6)
    assert 0 < len(marks) <= 7
    assert all(bottom - room <= mark <= top + room for mark in marks)


def test_a_fixed_end_stays_and_a_soft_one_gives_way() -> None:
    assert linear_ends([0.3], 0, 1, None, None) == (0, 1)
    assert linear_ends([1.4], 0, None, None, 2.0)[1] == 2.0
    assert linear_ends([3.4], 0, None, None, 2.0)[1] == 4.0
    assert linear_ends([], None, None, None, None) == (0.0, 1.0)


def test_powers_of_ten() -> None:
    low, high = log_ends([0.02, 30.0])
    assert (low, high) == (0.01, 100.0)
    assert log_marks(low, high, 4) == [0.01, 0.1, 1.0, 10.0, 100.0]
    assert log_marks(low, high, 2) == [0.01, 1.0, 100.0]
    scale = Scale(low, high, 100.0, 0.0, logarithmic=True)
    assert (scale.at(0.0), scale.at(1.0), scale.at(1e9)) == (100.0, 50.0, 0.0)


@given(st.floats(1.0, 1e7), st.floats(60.0, 1400.0))
def test_times_are_round_and_do_not_touch(length: float, width: float) -> None:
    span = Span(1_700_000_000.0, 1_700_000_000.0 + length)
    marks = time_marks(span, width)
    assert all(span.start <= at <= span.end for at, _ in marks)
    pixels = [(at - span.start) / length * width for at, _ in marks]
    assert all(right - left > 50.0 for left, right in pairwise(pixels))


def test_points_are_bounded() -> None:
    day = Span(0.0, 86_400.0)
    assert day.step(360, 15.0) == 300
    assert day.step(100_000, 15.0) == 120  # a thousand points at most
    assert Span(0.0, 60.0).step(360, 15.0) == 15.0  # no closer than scrapes
    assert Span(7.0, 68.0).aligned(15.0) == Span(0.0, 60.0)
    assert (rate_window(15.0, 15.0), rate_window(300.0, 15.0)) == (60.0, 315.0)
    assert (promql_duration(60.0), promql_duration(0.5)) == ("60s", "500ms")
    assert since_of("now-6h") == 21_600.0
    for odd in ("now/d", "now-6y", "2026-01-01"):
        with pytest.raises(SpanError, match="say --since"):
            since_of(odd)


@pytest.mark.parametrize(
    ("words", "room", "kept"), [("short", 100, "short"), ("longer word", 40, "longe…"), ("abc", 5, "")]
)
def test_a_text_is_cut_to_its_room(words: str, room: float, kept: str) -> None:
    assert cut(words, room) == kept


PANEL = {
    "fieldConfig": {
        "defaults": {
            "unit": "s",
            "noValue": "Nobody waits",
            "thresholds": {"steps": [{"color": "green", "value": None}, {"color": "#D55E00", "value": 1.0}]},
            "mappings": [
                {"type": "value", "options": {"-1": {"text": "No traffic", "color": "#8E8E8E"}}},
                {"type": "range", "options": {"from": 100, "to": None, "result": {"text": "Ages"}}},
                {"type": "special", "options": {"match": "nan", "result": {"text": "Cannot tell"}}},
            ],
        },
        "overrides": [
            {"matcher": {"id": "byName", "options": "Limit"}, "properties": [{"id": "unit", "value": "none"}]},
            {
                "matcher": {"id": "byRegexp", "options": "Limit.*"},
                "properties": [
                    {"id": "custom.lineStyle", "value": {"fill": "dash"}},
                    {"id": "color", "value": {"mode": "fixed", "fixedColor": "#123456"}},
                ],
            },
        ],
    }
}


@pytest.mark.parametrize(
    ("value", "text", "color"),
    [
        (0.5, "500 ms", "#73BF69"),
        (1.0, "1 s", "#D55E00"),
        (-1.0, "No traffic", "#8E8E8E"),
        (200.0, "Ages", "#D55E00"),
        (math.nan, "Cannot tell", "#73BF69"),
        (None, "Nobody waits", "#73BF69"),
    ],
)
def test_texts_and_limits_of_a_field(value: float | None, text: str, color: str) -> None:
    field = field_of(PANEL, "x")
    assert (field.text(value), field.color(value)) == (text, color)


def test_overrides_go_by_name_and_by_expression() -> None:
    both, one, none = (field_of(PANEL, name) for name in ("Limit", "Limit at 3", "x"))
    assert (both.unit, one.unit, none.unit) == ("none", "s", "s")
    assert both.custom == one.custom == {"lineStyle": {"fill": "dash"}}
    assert none.custom == {}
    assert colors_of([none, one, none]) == ["#0072B2", "#123456", "#009E73"]
    assert Field({}, {}).no_value == "No data"
