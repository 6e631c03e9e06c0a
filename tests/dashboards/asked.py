"""Asks a Prometheus what Grafana would ask for a dashboard."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_dashboards.grafana.time_series import IDLE_NAME
from specwatch_dashboards.grafana.values import NO_TRAFFIC
from specwatch_dashboards.metric_check import panels_of

_TEXTS: Final = {"published": "2.9", "quantile": "0.95"}
_DURATIONS: Final = {"$__rate_interval": "8s", "$__range": "20s", "$__interval": "2s"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of a panel.

    Attributes:
        where: dashboard, panel and letter.
        expr: the expression, without variables.
        legend: labels that its legend names.
        idle: whether it is the line that says "No traffic".
        kind: kind of the panel.
        points: most points of a line, or 0.
        tells_idle: whether a number says "No traffic" itself.
    """

    where: str
    expr: str
    legend: frozenset[str]
    idle: bool
    kind: str
    points: int
    tells_idle: bool


def asked_of(dashboard: Mapping[str, Any], durations: Mapping[str, str] = _DURATIONS) -> Iterator[Asked]:
    """All queries of its panels."""
    for panel in panels_of(dict(dashboard)):
        targets = panel.get("targets", [])
        for target in targets:
            legend = frozenset(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            yield Asked(
                f"{dashboard['uid']}: {panel['title']} {target['refId']}",
                filled(target["expr"], durations),
                legend,
                target["legendFormat"] == IDLE_NAME,
                panel["type"],
                panel.get("maxDataPoints", 0),
                f"+ {NO_TRAFFIC}" in target["expr"],
            )


def filled(expr: str, durations: Mapping[str, str] = _DURATIONS) -> str:
    """The expression with all variables at All, and a day as a few seconds."""
    for name, duration in durations.items():
        expr = expr.replace(name, duration)
    for name, text in _TEXTS.items():
        expr = expr.replace(f"${name}", text)
    return re.sub(r"\$\w+", ".*", expr)


def seconds_for_days(expr: str) -> str:
    """What looks back a day looks back seconds: this world is young."""
    shorter = expr.replace("offset 1d", "offset 3s").replace("[1d]", "[20s]").replace(":5m]", ":1s]")
    return shorter.replace("offset 1m", "offset 3s")


@dataclass(frozen=True, slots=True)
class Answer:
    """What Prometheus says at one instant.

    Attributes:
        labels: of each series.
        values: of each series.
    """

    labels: tuple[Mapping[str, str], ...]
    values: tuple[float, ...]

    @property
    def finite(self) -> bool:
        """Whether all values are numbers."""
        return all(math.isfinite(value) for value in self.values)


def ask(url: str, expr: str) -> Answer:
    """Ask over the last seconds as a panel does, and keep what is there at the end."""
    now = time.time()
    arguments = urllib.parse.urlencode({"query": expr, "start": now - 4, "end": now, "step": "1"})
    request = urllib.request.Request(f"{url}/api/v1/query_range?{arguments}")
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            body = json.load(response)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{expr}\n{error.read().decode()}") from error
    rows = [row for row in body["data"]["result"] if float(row["values"][-1][0]) > now - 0.5]
    return Answer(tuple(row["metric"] for row in rows), tuple(float(row["values"][-1][1]) for row in rows))
