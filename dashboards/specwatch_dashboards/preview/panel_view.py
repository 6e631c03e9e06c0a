"""One panel as HTML, at its size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from specwatch_dashboards.preview.field import Field, colors_of, field_of
from specwatch_dashboards.preview.heat_chart import heat_chart
from specwatch_dashboards.preview.legend import legend
from specwatch_dashboards.preview.line_chart import Line, line_chart
from specwatch_dashboards.preview.marks import Kind
from specwatch_dashboards.preview.number_view import bar_gauge, stat
from specwatch_dashboards.preview.panel_data import PanelData
from specwatch_dashboards.preview.state_chart import LEGEND_PX, state_chart, states_of
from specwatch_dashboards.preview.table_rows import table_of
from specwatch_dashboards.preview.table_view import table_view
from specwatch_dashboards.preview.text_view import text_view
from specwatch_dashboards.preview.time_span import Span

CELL_PX: Final = 30
GAP_PX: Final = 8
COLUMN_PX: Final = 60
TITLE_PX: Final = 30
_PADDING_PX: Final = 8
Json = Mapping[str, Any]
Size = tuple[float, float]


def inside_of(panel: Json) -> Size:
    """Width and height in pixels of what is below a panel's title."""
    place = panel["gridPos"]
    width = place["w"] * COLUMN_PX - GAP_PX
    height = place["h"] * (CELL_PX + GAP_PX) - GAP_PX
    return width - 2 * _PADDING_PX - 2, height - TITLE_PX - _PADDING_PX - 2


def panel_view(panel: Json, data: PanelData, span: Span, kinds: Sequence[Kind]) -> str:
    """A panel with title, description, links, and what its kind draws."""
    return (
        f'<section class="panel"{_place(panel)}><header><h3>{escape(panel.get("title", ""))}</h3>'
        f"{_about(panel)}</header>{_body(panel, data, span, kinds)}</section>"
    )


def _place(panel: Json) -> str:
    place = panel["gridPos"]
    columns = f"{place['x'] + 1} / span {place['w']}"
    return f' style="grid-column:{columns};grid-row:{place["y"] + 1} / span {place["h"]}"'


def _about(panel: Json) -> str:
    """The description, which Grafana shows under the pointer, behind an i."""
    words = panel.get("description", "")
    links = "".join(
        f'<a href="{escape(_page_of(link["url"]))}">{escape(link["title"])}</a>'
        for link in panel.get("links", [])
        if link.get("url")
    )
    if not words and not links:
        return ""
    return f"<details><summary>i</summary><div><p>{escape(words)}</p>{links}</div></details>"


def _page_of(url: str) -> str:
    """A link to a dashboard of the set is one to its page here."""
    return f"{url.removeprefix('/d/').split('?')[0].split('/')[0]}.html" if url.startswith("/d/") else url


def _body(panel: Json, data: PanelData, span: Span, kinds: Sequence[Kind]) -> str:
    if panel["type"] == "text":
        return text_view(panel.get("options", {}).get("content", ""))
    if data.error:
        return _nothing(f"Query refused: {data.error}")
    if not data.rows:
        return _nothing(field_of(panel, "").no_value)
    return _drawn(panel, data, span, kinds)


def _drawn(panel: Json, data: PanelData, span: Span, kinds: Sequence[Kind]) -> str:
    size = inside_of(panel)
    match panel["type"]:
        case "table":
            return table_view(panel, table_of(panel, data.frames), size[1])
        case "stat":
            return stat(panel, data.rows, size)
        case "bargauge":
            return bar_gauge(panel, data.rows, size[1])
        case "heatmap":
            return heat_chart(data.rows, panel.get("options", {}), size, span, data.step_s, kinds)
        case "timeseries" | "state-timeline":
            return _over_time(panel, data, size, span, kinds)
        case kind:
            return _nothing(f"The preview does not draw panels of the kind {kind}")


def _nothing(words: str) -> str:
    return f'<div class="nothing"><p>{escape(words)}</p></div>'


def _over_time(panel: Json, data: PanelData, size: Size, span: Span, kinds: Sequence[Kind]) -> str:
    lines = _lines(panel, data)
    if panel["type"] == "state-timeline":
        room = (size[0], size[1] - LEGEND_PX - 4)
        return state_chart(lines, room, span, data.step_s, kinds) + states_of(lines)
    keys, taken = legend(lines, panel.get("options", {}).get("legend", {}), *size)
    axis = _axis(panel)
    return line_chart(lines, axis, (size[0], size[1] - taken), span, data.step_s, kinds) + keys


def _lines(panel: Json, data: PanelData) -> list[Line]:
    fields = [field_of(panel, row.name) for row in data.rows]
    rows = zip(data.rows, fields, colors_of(fields), strict=True)
    return [Line(row.name, row.series.points, field, color) for row, field, color in rows]


def _axis(panel: Json) -> Field:
    defaults = panel.get("fieldConfig", {}).get("defaults", {})
    return Field(defaults, defaults.get("custom", {}))
