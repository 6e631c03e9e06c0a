"""What the preview makes of answers: lines, states, heat maps, tables, texts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from specwatch_dashboards.preview.chart_frame import Room, mark_lines
from specwatch_dashboards.preview.field import Field
from specwatch_dashboards.preview.heat_chart import separate
from specwatch_dashboards.preview.legend import legend, reduced
from specwatch_dashboards.preview.line_chart import Line, line_chart, runs
from specwatch_dashboards.preview.marks import Kind, Mark
from specwatch_dashboards.preview.number_view import bar, bar_gauge, stat
from specwatch_dashboards.preview.panel_data import Frame, PanelData, name_of
from specwatch_dashboards.preview.panel_view import panel_view
from specwatch_dashboards.preview.series import Named, Series
from specwatch_dashboards.preview.state_chart import merged, state_chart
from specwatch_dashboards.preview.table_rows import table_of
from specwatch_dashboards.preview.table_view import table_view
from specwatch_dashboards.preview.text_view import text_view
from specwatch_dashboards.preview.time_span import Span

SPAN = Span(0.0, 100.0)
PLACE = {"gridPos": {"x": 0, "y": 0, "w": 8, "h": 8}}


def one(labels: dict[str, str], *points: tuple[float, float]) -> Series:
    return Series(labels, points)


def line(*points: tuple[float, float], **custom: Any) -> Line:
    return Line("a line", points, Field({"unit": "none"}, custom), "#0072B2")


@pytest.mark.parametrize(
    ("legend_format", "name"),
    [
        ("{{model}} {{pod}}", "m p"),
        ("{{ model }}: {{nobody}}", "m:"),
        ("fixed", "fixed"),
        ("", 'up{model="m", pod="p"}'),
        ("__auto", 'up{model="m", pod="p"}'),
    ],
)
def test_names_come_from_labels(legend_format: str, name: str) -> None:
    assert name_of(one({"__name__": "up", "model": "m", "pod": "p"}), legend_format) == name


def test_missing_steps_and_nan_are_gaps() -> None:
    points = [(0.0, 1.0), (10.0, 2.0), (30.0, 3.0), (40.0, math.nan), (50.0, 4.0)]
    assert runs(points, 10.0) == [[(0.0, 1.0), (10.0, 2.0)], [(30.0, 3.0)], [(50.0, 4.0)]]


def test_a_state_lasts_until_the_next_point_and_equal_ones_are_one() -> None:
    row = line((0.0, 1.0), (10.0, 1.0), (20.0, 3.0), (50.0, 3.0))
    assert merged(row, 10.0) == [(0.0, 20.0, 1.0), (20.0, 30.0, 3.0), (50.0, 60.0, 3.0)]


def test_a_state_has_its_name_in_the_band() -> None:
    mappings = [{"type": "value", "options": {"1": {"text": "Drifted", "color": "#D55E00"}}}]
    row = Line("m", ((0.0, 1.0), (50.0, 1.0)), Field({"mappings": mappings}, {}), "")
    drawn = state_chart([row], (400.0, 100.0), SPAN, 50.0, ())
    assert '<text class="inside"' in drawn
    assert ">Drifted</text>" in drawn
    assert 'fill="#D55E00"' in drawn


def test_stacked_lines_stand_on_each_other_and_steps_have_corners() -> None:
    stacked = {"stacking": {"mode": "normal"}, "fillOpacity": 30}
    lines = [line((0.0, 1.0), (100.0, 1.0), **stacked), line((0.0, 2.0), (100.0, 2.0), **stacked)]
    drawn = line_chart(lines, Field({"unit": "none", "min": 0}, {}), (400.0, 200.0), SPAN, 100.0, ())
    tops = [part.split('"')[0] for part in drawn.split('<path class="line" d="')[1:]]
    heights = [float(top.split("L")[0].split()[1]) for top in tops]
    assert heights[1] < heights[0]  # 3 is above 1
    step = line((0.0, 1.0), (100.0, 2.0), lineInterpolation="stepAfter")
    assert "V" in line_chart([step], Field({}, {}), (400.0, 200.0), SPAN, 100.0, ()).split('class="line" d="')[1]


def test_dashes_and_a_lonely_point_are_seen() -> None:
    dashed = line((0.0, 1.0), (100.0, 1.0), lineStyle={"fill": "dash"})
    assert "stroke-dasharray" in line_chart([dashed], Field({}, {}), (400.0, 200.0), SPAN, 100.0, ())
    lonely = line_chart([line((50.0, 1.0))], Field({}, {}), (400.0, 200.0), SPAN, 10.0, ())
    assert "h1" in lonely.split('class="line" d="')[1]


def test_buckets_are_counted_alone() -> None:
    rows = [
        Named("+Inf", one({}, (0.0, 5.0))),
        Named("0.5", one({}, (0.0, 2.0))),
        Named("1.0", one({}, (0.0, 4.0))),
    ]
    assert separate(rows) == [(0.5, {0.0: 2.0}), (1.0, {0.0: 2.0}), (math.inf, {0.0: 1.0})]


def test_letters_of_marks_that_would_touch_stand_together() -> None:
    marks = [
        Mark(letter, at, at, "x", "#000") for letter, at in (("A", 10.0), ("B", 10.5), ("A", 11.0), ("C", 90.0))
    ]
    kinds = [Kind("A", "Deploys", "#000", tuple(marks))]
    drawn = "".join(mark_lines(Room(400.0, 200.0, 40.0), SPAN, kinds))
    assert [part.split("<")[0] for part in drawn.split('text-anchor="start">')[1:]] == ["AB", "C"]


@pytest.mark.parametrize(
    ("calc", "number"), [("lastNotNull", 2.0), ("max", 5.0), ("min", 1.0), ("mean", 8 / 3), ("sum", 8.0)]
)
def test_many_values_become_one(calc: str, number: float) -> None:
    assert reduced([1.0, 5.0, 2.0], calc) == number
    assert reduced([], calc) is None


def test_legends_are_as_high_as_they_need_and_no_higher() -> None:
    lines = [Line(f"a name of some length {at}", ((0.0, 1.0),), Field({}, {}), "#000") for at in range(30)]
    assert legend(lines[:1], {}, 400.0, 200.0)[1] == 22.0
    assert legend(lines[:4], {}, 400.0, 200.0)[1] == 40.0
    assert legend(lines, {}, 400.0, 200.0)[1] == 94.0
    assert legend(lines, {"showLegend": False}, 400.0, 200.0) == ("", 0.0)
    table, _ = legend(lines[:2], {"displayMode": "table", "calcs": ["lastNotNull", "max"]}, 400.0, 200.0)
    assert "<th>Last</th><th>Max</th>" in table


def test_several_numbers_share_a_panel() -> None:
    rows = [Named("a", one({}, (0.0, 1.0))), Named("<b>", one({}, (0.0, 2.0)))]
    drawn = stat({}, rows, (200.0, 100.0))
    assert drawn.count("stat-line") == 3
    assert "&lt;b&gt;" in drawn


@pytest.mark.parametrize(
    ("value", "width"), [(0.25, "25.0"), (7.0, "100.0"), (-1.0, "0.0"), (None, "0.0"), (math.nan, "0.0")]
)
def test_bars_stay_in_their_room(value: float | None, width: str) -> None:
    assert f"width:{width}%" in bar(value, 0.0, 1.0, "#000")


def test_bars_without_a_limit_end_at_the_largest() -> None:
    drawn = bar_gauge({}, [Named("a", one({}, (0.0, 2.0))), Named("b", one({}, (0.0, 4.0)))], 200.0)
    assert "width:50.0%" in drawn
    assert "width:100.0%" in drawn


def frame(letter: str, *rows: tuple[dict[str, str], float]) -> Frame:
    named = tuple(Named("", one(labels, (9.0, value))) for labels, value in rows)
    return Frame(letter, named, instant=True, step_s=1.0)


ORGANIZED = {
    "transformations": [
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {"Time": True, "job": True},
                "indexByName": {"model": 0, "Value #B": 1, "Value #A": 2},
                "renameByName": {"model": "Model", "Value #A": "First", "Value #B": "Second"},
            },
        },
    ],
    "options": {"sortBy": [{"displayName": "First", "desc": True}]},
}


def test_answers_are_joined_by_what_they_share() -> None:
    frames = [
        frame("A", ({"model": "m", "job": "x"}, 1.0), ({"model": "n", "job": "x"}, 5.0)),
        frame("B", ({"model": "m", "job": "x"}, 2.0), ({"model": "o", "job": "x"}, 3.0)),
    ]
    table = table_of(ORGANIZED, frames)
    assert table.columns == ("Model", "Second", "First")
    assert table.rows == (
        {"Model": "n", "Second": None, "First": 5.0},
        {"Model": "m", "Second": 2.0, "First": 1.0},
        {"Model": "o", "Second": 3.0, "First": None},
    )


def test_series_of_one_answer_stay_apart() -> None:
    rows = table_of({}, [frame("A", ({"pod": "a"}, 1.0), ({"pod": "b"}, 1.0))]).rows
    assert [row["pod"] for row in rows] == ["a", "b"]
    assert [row["Value"] for row in rows] == [1.0, 1.0]


def test_positions_are_sorted_as_numbers() -> None:
    panel = {"options": {"sortBy": [{"displayName": "position", "desc": False}]}}
    rows = table_of(panel, [frame("A", *(({"position": str(at)}, 1.0) for at in (10, 2, 1)))]).rows
    assert [row["position"] for row in rows] == ["1", "2", "10"]


def test_a_table_says_how_many_rows_did_not_fit() -> None:
    table = table_of({}, [frame("A", *(({"pod": f"p{at}"}, 1.0) for at in range(30)))])
    assert "26 more rows" in table_view({}, table, 150.0)
    assert table_view({}, table, 1000.0).count("<tr>") == 31


@pytest.mark.parametrize("count", [1, 6, 7, 50])
def test_numbers_and_bars_say_how_many_did_not_fit(count: int) -> None:
    rows = [Named(f"model {at}", one({}, (0.0, 1.0))) for at in range(count)]
    for drawn in (stat({}, rows, (214.0, 104.0)), bar_gauge({}, rows, 160.0)):
        seen = drawn.count("model ")
        assert seen == count if count <= 6 else f"{count - seen} more" in drawn


def test_a_number_with_a_text_is_sorted_as_a_number_and_has_the_colour_of_its_text() -> None:
    texts = {"3": {"text": "page", "color": "#D55E00"}, "1": {"text": "info", "color": "#8E8E8E"}}
    properties = [
        {"id": "mappings", "value": [{"type": "value", "options": texts}]},
        {"id": "custom.cellOptions", "value": {"type": "color-text"}},
        {"id": "custom.align", "value": "left"},
    ]
    panel = {
        "options": {"sortBy": [{"displayName": "Value", "desc": True}]},
        "fieldConfig": {"overrides": [{"matcher": {"id": "byName", "options": "Value"}, "properties": properties}]},
    }
    table = table_of(panel, [frame("A", ({"alertname": "a"}, 1.0), ({"alertname": "b"}, 3.0))])
    assert [row["alertname"] for row in table.rows] == ["b", "a"]
    assert '<td class="words" style="color:#D55E00">page</td>' in table_view(panel, table, 200.0)


def test_markdown() -> None:
    drawn = text_view("# Title\nA **bold** `code` <x>\n\n- one\n- [two](/d/other)\n- [bad](javascript:x)")
    assert drawn == (
        '<div class="text"><h4>Title</h4><p>A <b>bold</b> <code>code</code> &lt;x&gt;</p>'
        '<ul><li>one</li><li><a href="/d/other">two</a></li><li>[bad](javascript:x)</li></ul></div>'
    )


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("timeseries", PanelData(()), "Nobody waits"),
        ("stat", PanelData((), "parse error <here>"), "Query refused: parse error &lt;here&gt;"),
        ("nodeGraph", PanelData((frame("A", ({}, 1.0)),)), "does not draw panels of the kind nodeGraph"),
    ],
)
def test_a_panel_says_why_it_is_empty(kind: str, data: PanelData, said: str) -> None:
    panel = {**PLACE, "type": kind, "title": "T", "fieldConfig": {"defaults": {"noValue": "Nobody waits"}}}
    assert said in panel_view(panel, data, SPAN, ())


def test_links_between_dashboards_go_to_their_pages() -> None:
    links = [{"title": "Draft", "url": "/d/specwatch-draft?${__url_time_range}&${__all_variables}"}]
    panel = {**PLACE, "type": "stat", "title": "T", "description": "Good: <1", "links": links}
    drawn = panel_view(panel, PanelData(()), SPAN, ())
    assert 'href="specwatch-draft.html"' in drawn
    assert "Good: &lt;1" in drawn
