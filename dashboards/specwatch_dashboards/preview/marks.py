"""Events over all panels: the dashboard's annotations, as Grafana makes them of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from specwatch_alerts.durations import seconds_of
from specwatch_dashboards.preview.field import color_of
from specwatch_dashboards.preview.panel_data import name_of
from specwatch_dashboards.preview.prometheus_api import PrometheusApi, QueryError
from specwatch_dashboards.preview.series import Series
from specwatch_dashboards.preview.variables import Variables

_STEP_S = 60.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One event.

    Attributes:
        letter: of its kind, so that its colour is not the only sign.
        start: epoch seconds.
        end: epoch seconds; `start` for a moment.
        title: what happened.
        color: of its kind.
    """

    letter: str
    start: float
    end: float
    title: str
    color: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event.

    Attributes:
        letter: that marks it.
        name: what it is called.
        color: of its lines.
        marks: in order.
        error: why its query was refused, or empty.
    """

    letter: str
    name: str
    color: str
    marks: tuple[Mark, ...]
    error: str = ""


def kinds_of(dashboard: Mapping[str, Any], api: PrometheusApi, variables: Variables) -> tuple[Kind, ...]:
    """Ask for the events of every annotation that is a query."""
    asked = [
        one
        for one in dashboard.get("annotations", {}).get("list", [])
        if one.get("expr") and one.get("enable", True) and not one.get("hide")
    ]
    return tuple(_kind(letter, one, api, variables) for letter, one in zip(ascii_uppercase, asked, strict=False))


def _kind(letter: str, one: Mapping[str, Any], api: PrometheusApi, variables: Variables) -> Kind:
    color = color_of(one.get("iconColor", ""))
    step_s = seconds_of(one["step"]) if one.get("step") else _STEP_S
    try:
        found = api.over(variables.filled(one["expr"], step_s), variables.span.aligned(step_s), step_s)
    except QueryError as error:
        return Kind(letter, one["name"], color, (), str(error))
    title = one.get("titleFormat") or one["name"]
    marks = [
        Mark(letter, start, end, name_of(series, title), color)
        for series in found
        for start, end in _runs(series, step_s)
    ]
    return Kind(letter, one["name"], color, tuple(sorted(marks, key=lambda mark: (mark.start, mark.title))))


def _runs(series: Series, step_s: float) -> Iterator[tuple[float, float]]:
    """Samples above 0 that follow each other are one event."""
    start = end = None
    for at, value in series.points:
        if not value > 0:
            continue
        if end is not None and start is not None and at > end + step_s:
            yield start, end
            start = None
        start, end = (at if start is None else start), at
    if start is not None and end is not None:
        yield start, end
