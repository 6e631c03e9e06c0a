"""Single numbers: stat and bar gauge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.panel import About, Panel, finished
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.values import ABSENT_TEXTS, Shown, mappings

_LAST: Final[Json] = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def stat(
    about: About,
    queries: Sequence[Query],
    thresholds: Json,
    shown: Sequence[Shown] = (),
    decimals: int | None = None,
) -> Panel:
    """Large numbers, one per series, with its name; -1 and -2 are texts."""
    made = core.Stat(title=about.title, colorMode="value", graphMode="none", textMode="value_and_name")
    defaults: Json = {
        "color": {"mode": "thresholds"},
        "thresholds": thresholds,
        "mappings": mappings([*shown, *ABSENT_TEXTS]),
        "custom": {},
    }
    if decimals is not None:
        defaults["decimals"] = decimals
    return finished(
        made,
        about,
        queries,
        options={
            "reduceOptions": _LAST,
            "percentChangeColorMode": "standard",
            "showPercentChange": False,
            "wideLayout": True,
        },
        defaults=defaults,
    )


def bar_gauge(about: About, queries: Sequence[Query], thresholds: Json, low: float, high: float | None) -> Panel:
    """Bars, one per series, with name and number."""
    made = core.BarGauge(title=about.title)
    ends = {"min": low} if high is None else {"min": low, "max": high}
    panel = finished(
        made,
        about,
        queries,
        options={},
        defaults={
            "color": {"mode": "thresholds"},
            "thresholds": thresholds,
            "mappings": mappings(ABSENT_TEXTS),
            "custom": {},
            **ends,
        },
    )
    # What grafanalib has here is of Grafana 6.
    panel.body["options"] = {
        "displayMode": "basic",
        "orientation": "horizontal",
        "reduceOptions": _LAST,
        "showUnfilled": True,
        "valueMode": "text",
        "namePlacement": "auto",
        "sizing": "auto",
        "minVizHeight": 16,
        "minVizWidth": 8,
        "maxVizHeight": 40,
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
    }
    return panel
