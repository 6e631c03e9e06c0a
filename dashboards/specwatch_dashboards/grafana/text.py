"""A few words on the page itself."""

from __future__ import annotations

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.panel import Panel
from specwatch_dashboards.grafana.plain_json import plain

_KEPT = ("type", "title", "description", "options")


def text(title: str, description: str, content: str, width: int, height: int) -> Panel:
    """Markdown."""
    made = plain(core.Text(title=title, description=description, content=content, mode="markdown"))
    body = {key: value for key, value in made.items() if key in _KEPT}
    return Panel(width, height, {**body, "fieldConfig": {"defaults": {}, "overrides": []}, "transparent": True})
