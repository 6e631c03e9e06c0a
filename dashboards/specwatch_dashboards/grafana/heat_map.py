"""A histogram over time."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.panel import About, Panel, finished
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.values import QUIET, steps

# Cells of a few pixels.
_MAX_POINTS: Final = 180
_OPTIONS: Final[Json] = {
    "calculate": False,
    "cellGap": 1,
    "color": {
        "mode": "scheme",
        "scheme": "Blues",
        "fill": "dark-blue",
        "exponent": 0.5,
        "scale": "exponential",
        "steps": 64,
        "reverse": False,
    },
    "exemplars": {"color": "rgba(255,0,255,0.7)"},
    "filterValues": {"le": 1e-9},
    "legend": {"show": True},
    "rowsFrame": {"layout": "auto"},
    "showValue": "never",
    "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": False},
}


def heat_map(about: About, query: Query, counted: str) -> Panel:
    """Cells over time and bucket, darker where more is; the query's form must be `heatmap`, its legend `{{le}}`.

    Args:
        about: title and so on; the unit is that of the buckets.
        query: counts by `le`.
        counted: unit of the counts.
    """
    panel = finished(
        core.Heatmap(title=about.title),
        about,
        [query],
        options={},
        defaults={
            "thresholds": steps(QUIET),
            "custom": {
                "hideFrom": {"legend": False, "tooltip": False, "viz": False},
                "scaleDistribution": {"type": "linear"},
            },
        },
    )
    axis = {"axisPlacement": "left", "reverse": False, "unit": about.unit}
    panel.body["maxDataPoints"] = _MAX_POINTS
    panel.body["options"] = {**_OPTIONS, "yAxis": axis, "cellValues": {"unit": counted}}
    return panel
