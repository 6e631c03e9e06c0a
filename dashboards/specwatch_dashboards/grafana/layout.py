"""Places panels on Grafana's grid of 24 columns: from left to right, and a new line when one is full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.panel import Panel
from specwatch_dashboards.grafana.plain_json import Json, plain

COLUMNS: Final = 24
_ROW_KEPT: Final = ("type", "title", "collapsed", "panels")


@dataclass(frozen=True, slots=True)
class Row:
    """A heading with panels below it.

    Attributes:
        title: the heading; empty for panels at the top without one.
        panels: from left to right.
        collapsed: closed at first: what not every deployment has, or what is rarely looked at. Costs nothing then.
    """

    title: str
    panels: tuple[Panel, ...]
    collapsed: bool = False


def placed(rows: Sequence[Row]) -> list[Json]:
    """The JSON of all panels with ids and places; those of a collapsed row are inside it."""
    made: list[Json] = []
    top, number = 0, 1
    for row in rows:
        heading = None
        if row.title:
            heading = _heading(row, top, number)
            made.append(heading)
            top, number = top + 1, number + 1
        below = []
        for panel, x, y in _grid(row.panels):
            below.append({**panel.body, "id": number, "gridPos": _position(panel.width, panel.height, x, top + y)})
            number += 1
        top = max([top, *(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in below)])
        if heading is not None and row.collapsed:
            heading["panels"] = below
        else:
            made.extend(below)
    return made


def _grid(panels: Sequence[Panel]) -> Iterator[tuple[Panel, int, int]]:
    x = y = tallest = 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        yield panel, x, y
        x, tallest = x + panel.width, max(tallest, panel.height)


def _heading(row: Row, top: int, number: int) -> Json:
    made = plain(core.RowPanel(title=row.title, collapsed=row.collapsed))
    kept = {key: value for key, value in made.items() if key in _ROW_KEPT}
    return {**kept, "id": number, "gridPos": _position(COLUMNS, 1, 0, top)}


def _position(width: int, height: int, x: int, y: int) -> Json:
    return {"h": height, "w": width, "x": x, "y": y}
