"""States over time, as bands with their name inside."""

from __future__ import annotations

from collections.abc import Sequence

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.panel import About, Panel, finished
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.values import QUIET, Shown, mappings, steps


def state_timeline(about: About, queries: Sequence[Query], shown: Sequence[Shown]) -> Panel:
    """One band per series; a value is drawn as its text, the colour only helps."""
    made = core.StateTimeline(title=about.title, mergeValues=True, showValue="auto")
    return finished(
        made,
        about,
        queries,
        options={
            "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "single", "sort": "none"},
        },
        defaults={
            "color": {"mode": "thresholds"},
            "thresholds": steps(QUIET),
            "mappings": mappings(shown),
            "custom": {"hideFrom": {"legend": False, "tooltip": False, "viz": False}},
        },
    )
