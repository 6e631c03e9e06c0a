"""A whole dashboard as one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

from specwatch_dashboards.preview.look import Look
from specwatch_dashboards.preview.marks import Kind
from specwatch_dashboards.preview.page_style import STYLE
from specwatch_dashboards.preview.panel_view import CELL_PX, GAP_PX
from specwatch_dashboards.preview.variables import Variables

Json = Mapping[str, Any]
_HEAD_PX: Final = 250
_ROW_HEAD_PX: Final = 42
_NOTE: Final = (
    "Drawn by `specwatch dashboards preview` from the dashboard's JSON and this Prometheus' answers, for review "
    "without Grafana. Grafana draws it in its own way, with other colours of lines; shapes on lines and letters "
    "over marks are the preview's."
)
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Part:
    """Panels below one heading.

    Attributes:
        heading: empty at the top.
        closed: whether Grafana shows the heading alone at first.
        panels: with places from the part's own top on.
    """

    heading: str
    closed: bool
    panels: tuple[Json, ...]

    @property
    def height(self) -> int:
        """Rows of Grafana's grid."""
        return max((panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in self.panels), default=0)


def parts_of(dashboard: Json) -> list[Part]:
    """The dashboard's panels by heading; those of a closed row are inside it."""
    found: list[tuple[str, bool, list[Json]]] = [("", False, [])]
    for panel in sorted(dashboard.get("panels", []), key=_order):
        if panel["type"] == "row":
            found.append((panel.get("title", ""), bool(panel.get("collapsed")), list(panel.get("panels") or [])))
        else:
            found[-1][2].append(panel)
    return [Part(heading, closed, _moved_up(panels)) for heading, closed, panels in found if heading or panels]


def _order(panel: Json) -> tuple[int, int]:
    return panel["gridPos"]["y"], panel["gridPos"]["x"]


def _moved_up(panels: Sequence[Json]) -> tuple[Json, ...]:
    top = min((panel["gridPos"]["y"] for panel in panels), default=0)
    return tuple({**panel, "gridPos": {**panel["gridPos"], "y": panel["gridPos"]["y"] - top}} for panel in panels)


def page_height(dashboard: Json) -> int:
    """Pixels that the page takes at most."""
    rows = sum(part.height * (CELL_PX + GAP_PX) + _ROW_HEAD_PX for part in parts_of(dashboard))
    return _HEAD_PX + rows


def page(
    dashboard: Json,
    variables: Variables,
    kinds: Sequence[Kind],
    draw: Callable[[Json], str],
    look: Look,
    caption: str,
    others: Mapping[str, str],
) -> str:
    """The page.

    Args:
        dashboard: its JSON.
        variables: resolved.
        kinds: events.
        draw: makes the HTML of one panel.
        look: light or dark at first.
        caption: what the reader should know of these numbers; may be empty.
        others: titles of the dashboards beside it, by uid.
    """
    body = "".join(_part(part, draw) for part in parts_of(dashboard))
    title = escape(dashboard.get("title", ""))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{title}: preview</title><style>{STYLE}</style></head><body>"
        f"<h1>{title}</h1><p>{escape(dashboard.get('description', ''))}</p>{_nav(others, look)}"
        f'<p class="note">{_note(caption)}</p>{_choices(variables)}{_kinds(kinds)}{body}</body></html>\n'
    )


def _part(part: Part, draw: Callable[[Json], str]) -> str:
    closed = " <small>(closed at first in Grafana)</small>" if part.closed else ""
    heading = f"<h2>{escape(part.heading)}{closed}</h2>" if part.heading else ""
    return f'{heading}<div class="grid">{"".join(draw(panel) for panel in part.panels)}</div>'


def _nav(others: Mapping[str, str], look: Look) -> str:
    links = "".join(f'<a href="{escape(uid)}.html">{escape(title)}</a>' for uid, title in others.items())
    looks = "".join(
        f'<label><input type="radio" name="look" id="{one}"{" checked" if one is look else ""}>{one}</label> '
        for one in Look
    )
    return f'<nav>{links}<span class="looks">{looks}</span></nav>'


def _note(caption: str) -> str:
    note = escape(_NOTE).replace("`specwatch dashboards preview`", "<code>specwatch dashboards preview</code>")
    return f"<b>Preview.</b> {note}" + (f"<br><b>These numbers:</b> {escape(caption)}" if caption else "")


def _choices(variables: Variables) -> str:
    start, end = (datetime.fromtimestamp(at, UTC) for at in (variables.span.start, variables.span.end))
    times = f"<span>Time: {start:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S} UTC</span>"
    chosen = [f"<span>{escape(one.label)}: {escape(one.text)}</span>" for one in variables.choices.values()]
    return f'<div class="choices">{times}{"".join(chosen)}</div>'


def _kinds(kinds: Sequence[Kind]) -> str:
    if not kinds:
        return ""
    said = [
        f'<span><b style="border-color:{kind.color}">{kind.letter}</b>{escape(kind.name)}: {_count(kind)}</span>'
        for kind in kinds
    ]
    return f'<div class="kinds"><span>Marks on all panels:</span>{"".join(said)}</div>'


def _count(kind: Kind) -> str:
    return escape(f"query refused: {kind.error}") if kind.error else str(len(kind.marks) or "none")
