"""A table panel as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from specwatch_dashboards.preview.field import Field, field_of
from specwatch_dashboards.preview.number_view import bar
from specwatch_dashboards.preview.table_rows import Cell, Table

_ROW_PX: Final = 25


def table_view(panel: Mapping[str, Any], table: Table, height: float) -> str:
    """As many rows as fit, and how many more there are."""
    fields = {name: field_of(panel, name) for name in table.columns}
    sides = {name: _side(table, name, field) for name, field in fields.items()}
    heads = "".join(f'<th class="{sides[name]}">{escape(name)}</th>' for name in table.columns)
    fits = max(1, int(height / _ROW_PX) - 1)
    shown = table.rows if len(table.rows) <= fits else table.rows[: fits - 1]
    body = "".join(
        f"<tr>{''.join(_cell(fields[name], row.get(name), sides[name]) for name in table.columns)}</tr>"
        for row in shown
    )
    more = len(table.rows) - len(shown)
    rest = f'<tr><td colspan="{len(table.columns)}">{more} more rows</td></tr>' if more else ""
    return f'<div class="cells-room"><table class="cells"><tr>{heads}</tr>{body}{rest}</table></div>'


def _side(table: Table, name: str, field: Field) -> str:
    """Columns of numbers stand right, unless the column says otherwise."""
    if field.custom.get("align") == "left":
        return "words"
    cells = [row.get(name) for row in table.rows]
    return "number" if any(isinstance(cell, float) for cell in cells) else "words"


def _cell(field: Field, cell: Cell, side: str) -> str:
    if isinstance(cell, float):
        words = field.text(cell)
        kind = field.custom.get("cellOptions", {}).get("type")
        if kind == "gauge":
            low, high = field.low or 0.0, 1.0 if field.high is None else field.high
            drawn = bar(cell, low, high, field.color(cell))
            return f'<td class="number"><div class="cell-bar">{drawn}</div>{escape(words)}</td>'
        style = f' style="color:{field.color(cell)}"' if kind == "color-text" else ""
        return f'<td class="{side}"{style}>{escape(words)}</td>'
    return f'<td class="{side}">{escape(cell or field.no_value)}</td>'
