"""Lines over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.panel import About, Panel, finished
from specwatch_dashboards.grafana.plain_json import Json, merged
from specwatch_dashboards.grafana.query import Query
from specwatch_dashboards.grafana.values import QUIET, steps

IDLE_NAME: Final = "No traffic"


@dataclass(frozen=True, slots=True)
class Look:
    """How lines are drawn.

    Attributes:
        low: lower end of the axis; None lets Grafana choose.
        high: upper end of the axis; None lets Grafana choose.
        soft_high: upper end that gives way to larger values.
        stacked: areas on top of each other.
        logarithmic: the axis in powers of ten.
        steps: a level per value instead of slopes.
        table: the legend with last and largest value.
        points: most points of a line; Grafana's own choice, one a pixel, costs Prometheus four times as much.
        marked: drawn otherwise: (regular expression of the name, colour, dashes).
    """

    low: float | None = 0
    high: float | None = None
    soft_high: float | None = None
    stacked: bool = False
    logarithmic: bool = False
    steps: bool = False
    table: bool = False
    points: int = 360
    marked: tuple[tuple[str, str | None, bool], ...] = ()


PLAIN_LOOK: Final = Look()


def time_series(about: About, queries: Sequence[Query], look: Look = PLAIN_LOOK) -> Panel:
    """Lines; a series called "No traffic" is a grey line at 0."""
    made = core.TimeSeries(
        title=about.title,
        lineWidth=1 if look.stacked else 2,
        fillOpacity=30 if look.stacked else 0,
        lineInterpolation="stepAfter" if look.steps else "linear",
        showPoints="never",
        tooltipMode="multi",
        tooltipSort="desc",
        legendDisplayMode="table" if look.table else "list",
        legendCalcs=["lastNotNull", "max"] if look.table else [],
    )
    scale: Json = {"type": "log", "log": 10} if look.logarithmic else {"type": "linear"}
    custom: Json = {
        "stacking": {"mode": "normal" if look.stacked else "none", "group": "A"},
        "scaleDistribution": scale,
        "thresholdsStyle": {"mode": "off"},
        "hideFrom": {"legend": False, "tooltip": False, "viz": False},
    }
    if look.soft_high is not None:
        custom["axisSoftMax"] = look.soft_high
    ends = {name: value for name, value in (("min", look.low), ("max", look.high)) if value is not None}
    marked = [_drawn("byRegexp", *mark) for mark in look.marked]
    panel = finished(
        made,
        about,
        queries,
        options={"legend": {"showLegend": True, "calcs": ["lastNotNull", "max"] if look.table else []}},
        defaults=merged({"custom": custom, "thresholds": steps(QUIET), "mappings": []}, ends),
        overrides=[*marked, _drawn("byName", IDLE_NAME, QUIET, dashed=True)],
    )
    panel.body["maxDataPoints"] = look.points
    return panel


def _drawn(matcher: str, name: str, color: str | None, dashed: bool) -> Json:
    properties: list[Json] = []
    if color is not None:
        properties.append({"id": "color", "value": {"mode": "fixed", "fixedColor": color}})
    if dashed:
        properties.append({"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 6]}})
        properties.append({"id": "custom.lineWidth", "value": 1})
        properties.append({"id": "custom.fillOpacity", "value": 0})
        properties.append({"id": "custom.stacking", "value": {"mode": "none", "group": "A"}})
    return {"matcher": {"id": matcher, "options": name}, "properties": properties}
