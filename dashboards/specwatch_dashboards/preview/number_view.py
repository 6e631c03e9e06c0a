"""Single numbers: stat and bar gauge, as HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from specwatch_dashboards.preview.field import Field, field_of
from specwatch_dashboards.preview.legend import reduced
from specwatch_dashboards.preview.series import Named

Json = Mapping[str, Any]
Entry = tuple[str, Field, float | None]
_LEAST_LINE_PX: Final = 17.0
_BAR_PX: Final = 26.0
_LARGEST_PX: Final = 38
_LETTER: Final = 0.58
"""Width of a letter over its height."""


def stat(panel: Json, rows: Sequence[Named], size: tuple[float, float]) -> str:
    """Large numbers with names; several share the height."""
    found = [(row.name, field_of(panel, row.name), _value(panel, row)) for row in rows]
    if len(found) == 1:
        name, field, value = found[0]
        words = field.text(value)
        pixels = _fitting(words, size[0], size[1] - 20)
        return f'<div class="stat"><small>{escape(name)}</small>{_number(field, value, words, pixels)}</div>'
    seen = _seen(found, size[1], _LEAST_LINE_PX)
    each = size[1] / max(1, len(seen))
    lines = []
    for name, field, value in seen:
        words = field.text(value)
        pixels = min(_fitting(words, size[0] * 0.5, each), 24)
        number = _number(field, value, words, pixels)
        lines.append(f'<div class="stat-line"><small>{escape(name)}</small>{number}</div>')
    lines += [f'<div class="stat-line"><small>{rest}</small></div>' for rest in _rest(found, seen)]
    return f'<div class="stat-lines">{"".join(lines)}</div>'


def bar_gauge(panel: Json, rows: Sequence[Named], height: float) -> str:
    """A bar for each series, with its name and its number; as many as fit."""
    found = [(row.name, field_of(panel, row.name), _value(panel, row)) for row in rows]
    top = max([value for _, _, value in found if value is not None and math.isfinite(value)], default=1.0)
    lines = []
    seen = _seen(found, height, _BAR_PX)
    for name, field, value in seen:
        low, high = field.low or 0.0, field.high if field.high is not None else max(top, 1e-9)
        lines.append(
            f'<div class="bar-name">{escape(name)}</div>'
            f'<div class="bar-room">{bar(value, low, high, field.color(value))}</div>'
            f'<div class="bar-value">{escape(field.text(value))}</div>'
        )
    lines += [f'<div class="bar-name">{rest}</div>' for rest in _rest(found, seen)]
    return f'<div class="bars">{"".join(lines)}</div>'


def bar(value: float | None, low: float, high: float, color: str) -> str:
    """A bar that is empty at `low` and full at `high`."""
    share = 0.0 if value is None or not math.isfinite(value) or high <= low else (value - low) / (high - low)
    return f'<div class="bar" style="width:{100 * min(max(share, 0.0), 1.0):.1f}%;background:{color}"></div>'


def _seen(found: Sequence[Entry], height: float, each_px: float) -> Sequence[Entry]:
    fits = max(1, int(height / each_px))
    return found if len(found) <= fits else found[: fits - 1]


def _rest(found: Sequence[Entry], seen: Sequence[Entry]) -> list[str]:
    return [f"{len(found) - len(seen)} more"] if len(seen) < len(found) else []


def _value(panel: Json, row: Named) -> float | None:
    calcs = panel.get("options", {}).get("reduceOptions", {}).get("calcs") or ["lastNotNull"]
    return reduced([value for _, value in row.series.points if not math.isnan(value)], calcs[0])


def _fitting(words: str, width: float, height: float) -> int:
    """Height of letters with which a text fits."""
    return int(max(11, min(_LARGEST_PX, height * 0.8, width / (max(1, len(words)) * _LETTER))))


def _number(field: Field, value: float | None, words: str, pixels: int) -> str:
    color = field.color(value)
    return f'<b style="font-size:{pixels}px;color:{color}">{escape(words)}</b>'
