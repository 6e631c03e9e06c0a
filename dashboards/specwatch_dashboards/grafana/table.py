"""Tables of instant queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.panel import About, Panel, finished
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.values import ABSENT_TEXTS, QUIET, Shown, mappings, steps

_HIDDEN: Final = ("Time", "__name__", "alertstate", "instance", "job")


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        field: label, or `Value #A` for the first query's number; `Value` where there is only one.
        title: heading.
        unit: unit of a number; empty for a label.
        bar_to: draw a bar that is full at this value; None for text alone.
        shown: texts and colours instead of its numbers, by which rows are still sorted.
    """

    field: str
    title: str
    unit: str = ""
    bar_to: float | None = None
    shown: Sequence[Shown] = ()


def table(
    about: About,
    queries: Sequence[Query],
    columns: Sequence[Column],
    hidden: Sequence[str] = (),
    sort_by: tuple[str, bool] | None = None,
) -> Panel:
    """Rows out of the labels of the queries' series, which Grafana joins by all labels that they share.

    Args:
        about: title and so on.
        queries: all instant, form `table`.
        columns: in order.
        hidden: fields that are left out, beside time and target.
        sort_by: heading, and whether the largest is first.
    """
    made = core.Table(
        title=about.title,
        sortBy=[] if sort_by is None else [core.TableSortByField(*sort_by)],
    )
    panel = finished(
        made,
        about,
        queries,
        options={"cellHeight": "sm", "frameIndex": 0, "showHeader": True},
        defaults={
            "color": {"mode": "thresholds"},
            "thresholds": steps(QUIET),
            "mappings": mappings(ABSENT_TEXTS),
        },
        overrides=[_column(column) for column in columns if column.unit],
        transformations=_transformations(columns, hidden, joined=len(queries) > 1),
    )
    panel.body["fieldConfig"]["defaults"]["custom"] = {
        "align": "auto",
        "cellOptions": {"type": "auto"},
        "filterable": False,
        "inspect": False,
    }
    return panel


def _column(column: Column) -> Json:
    properties: list[Json] = [{"id": "unit", "value": column.unit}]
    if column.bar_to is not None:
        properties += [
            {"id": "custom.cellOptions", "value": {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}},
            {"id": "min", "value": 0},
            {"id": "max", "value": column.bar_to},
        ]
    if column.shown:
        properties += [
            {"id": "mappings", "value": mappings(column.shown)},
            {"id": "custom.cellOptions", "value": {"type": "color-text"}},
            {"id": "custom.align", "value": "left"},
        ]
    return {"matcher": {"id": "byName", "options": column.title}, "properties": properties}


def _transformations(columns: Sequence[Column], hidden: Sequence[str], *, joined: bool) -> list[Json]:
    organized = {
        "id": "organize",
        "options": {
            "excludeByName": dict.fromkeys([*_HIDDEN, *hidden], True),
            "indexByName": {column.field: place for place, column in enumerate(columns)},
            "renameByName": {column.field: column.title for column in columns},
        },
    }
    return [{"id": "merge", "options": {}}, organized] if joined else [organized]
