"""The legend below a chart: a shape or dash in the line's colour, its name, and the numbers that are asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from specwatch_dashboards.preview import svg
from specwatch_dashboards.preview.line_chart import Line

ROW_PX: Final = 18
_SWATCH_PX: Final = 34.0
_MOST_SHARE: Final = 0.45
_CALCS: Final = {"lastNotNull": "Last", "last": "Last", "max": "Max", "min": "Min", "mean": "Mean"}


def legend(lines: Sequence[Line], options: dict[str, Any], width: float, height: float) -> tuple[str, float]:
    """The legend as HTML, and its height in pixels: at most a share of the panel's.

    Args:
        lines: in order.
        options: `options.legend` of the panel.
        width: of the panel's inside.
        height: of the panel's inside.
    """
    if not options.get("showLegend", True) or options.get("displayMode") == "hidden":
        return "", 0.0
    as_table = options.get("displayMode") == "table" or bool(options.get("calcs"))
    rows = len(lines) + 1 if as_table else _rows(lines, width)
    fits = max(1, int(height * _MOST_SHARE / ROW_PX))
    taken = min(rows, fits) * ROW_PX
    inside = _table(lines, options.get("calcs", [])) if as_table else "".join(_name(*each) for each in _each(lines))
    kind = "legend legend-table" if as_table else "legend"
    return f'<div class="{kind}" style="height:{taken}px">{inside}</div>', taken + 4.0


def _rows(lines: Sequence[Line], width: float) -> int:
    """Lines that the names take when they are written one after the other."""
    rows, used = 1, 0.0
    for line in lines:
        needed = min(svg.width_of(line.name) * 1.1 + _SWATCH_PX, width)
        if used and used + needed > width:
            rows, used = rows + 1, 0.0
        used += needed
    return rows


def _each(lines: Sequence[Line]) -> list[tuple[int, Line]]:
    return list(enumerate(lines))


def _name(at: int, line: Line) -> str:
    return f'<span class="key">{_swatch(at, line)}<span>{escape(line.name) or "&nbsp;"}</span></span>'


def _swatch(at: int, line: Line) -> str:
    if line.field.custom.get("lineStyle", {}).get("fill") == "dash":
        stroke = f'<path d="M1 6H21" stroke="{line.color}" stroke-width="2" stroke-dasharray="5 3"/>'
        return f'<svg width="22" height="12">{stroke}</svg>'
    stroke = f'<path d="M1 6H21" stroke="{line.color}" stroke-width="2"/>'
    return f'<svg width="22" height="12">{stroke}{svg.symbol(at, 11, 6, line.color)}</svg>'


def _table(lines: Sequence[Line], calcs: Sequence[str]) -> str:
    heads = "".join(f"<th>{_CALCS.get(calc, calc)}</th>" for calc in calcs)
    rows = []
    for at, line in _each(lines):
        values = [value for _, value in line.points if math.isfinite(value)]
        cells = "".join(f"<td>{escape(line.field.text(reduced(values, calc)))}</td>" for calc in calcs)
        rows.append(f'<tr><td class="named">{_name(at, line)}</td>{cells}</tr>')
    return f"<table><tr><th></th>{heads}</tr>{''.join(rows)}</table>"


def reduced(values: Sequence[float], calc: str) -> float | None:
    """One number of many, None of none: the last, largest, smallest, mean, or sum; the last for other names."""
    if not values:
        return None
    if calc == "max":
        return max(values)
    if calc == "min":
        return min(values)
    if calc == "mean":
        return sum(values) / len(values)
    return sum(values) if calc == "sum" else values[-1]
