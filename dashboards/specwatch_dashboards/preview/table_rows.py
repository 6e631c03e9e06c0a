"""Rows and columns of a table panel out of the answers, as Grafana's transformations `merge` and `organize` do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from specwatch_dashboards.preview.panel_data import Frame

Cell = str | float | None
Row = dict[str, Cell]
_FIRST: Final = ("Time",)


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: headings in order.
        rows: cells by heading; a heading that a row lacks is empty there.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def table_of(panel: Mapping[str, Any], frames: Sequence[Frame]) -> Table:
    """The panel's table: answers joined, columns chosen, renamed and ordered, rows sorted."""
    names = [one["id"] for one in panel.get("transformations", []) if not one.get("disabled")]
    shown = frames if "merge" in names else frames[:1]
    rows = _joined([list(_rows(frame, alone=len(frames) == 1)) for frame in shown])
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(tuple(columns), tuple(rows))
    for one in panel.get("transformations", []):
        if one["id"] == "organize" and not one.get("disabled"):
            table = _organized(table, one.get("options", {}))
    return _sorted(table, panel.get("options", {}).get("sortBy", []))


def _rows(frame: Frame, *, alone: bool) -> Iterator[Row]:
    for row in frame.rows:
        at, value = row.series.points[-1]
        yield {
            "Time": f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}",
            **row.series.labels,
            "Value" if alone else f"Value #{frame.letter}": value,
        }


def _joined(parts: Sequence[Sequence[Row]]) -> list[Row]:
    """Rows that agree in all that both have become one."""
    whole: list[Row] = []
    for rows in parts:
        for row in rows:
            partner = next((one for one in whole if _agree(one, row)), None)
            if partner is None:
                whole.append(dict(row))
            else:
                partner.update(row)
    return whole


def _agree(one: Row, other: Row) -> bool:
    shared = one.keys() & other.keys()
    numbers = [name for name in shared if name.startswith("Value")]
    return not numbers and all(one[name] == other[name] for name in shared)


def _organized(table: Table, options: Mapping[str, Any]) -> Table:
    excluded = {name for name, out in options.get("excludeByName", {}).items() if out}
    order = options.get("indexByName", {})
    titles = options.get("renameByName", {})
    kept = [name for name in table.columns if name not in excluded]
    kept.sort(key=lambda name: order.get(name, len(order) + len(kept)))
    rows = [{titles.get(name) or name: row.get(name) for name in kept} for row in table.rows]
    return Table(tuple(titles.get(name) or name for name in kept), tuple(rows))


def _sorted(table: Table, sort_by: Sequence[Mapping[str, Any]]) -> Table:
    rows = list(table.rows)
    for one in reversed(sort_by):
        name = one.get("displayName", "")
        rows.sort(key=lambda row: _rank(row.get(name)), reverse=bool(one.get("desc")))
    return Table(table.columns, tuple(rows))


def _rank(cell: Cell) -> tuple[int, float, str]:
    """Numbers and texts that are numbers by value, then texts, then nothing."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return (0, 0.0, "")
    try:
        return (1, float(cell), "")
    except ValueError:
        return (2, 0.0, str(cell))
