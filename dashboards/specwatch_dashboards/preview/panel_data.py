"""Asks what a panel asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_dashboards.preview.prometheus_api import PrometheusApi, QueryError
from specwatch_dashboards.preview.series import Named, Series
from specwatch_dashboards.preview.variables import Variables

Json = Mapping[str, Any]
POINTS: Final = 360
_LABEL: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Frame:
    """The answer to one query.

    Attributes:
        letter: of the query.
        rows: series with their names.
        instant: whether only the end of the time was asked for.
        step_s: seconds between points.
    """

    letter: str
    rows: tuple[Named, ...]
    instant: bool
    step_s: float


@dataclass(frozen=True, slots=True)
class PanelData:
    """All answers for a panel.

    Attributes:
        frames: one per query.
        error: why there is none, or empty.
    """

    frames: tuple[Frame, ...]
    error: str = ""

    @property
    def rows(self) -> tuple[Named, ...]:
        """The series of all queries, in order."""
        return tuple(row for frame in self.frames for row in frame.rows)

    @property
    def step_s(self) -> float:
        """Seconds between points."""
        return max((frame.step_s for frame in self.frames if not frame.instant), default=1.0)


def asked(panel: Json, api: PrometheusApi, variables: Variables) -> PanelData:
    """Ask all queries of a panel; one that is refused is the panel's error, as in Grafana."""
    try:
        return PanelData(tuple(_frames(panel, api, variables)))
    except QueryError as error:
        return PanelData((), str(error))


def _frames(panel: Json, api: PrometheusApi, variables: Variables) -> Iterator[Frame]:
    span = variables.span
    step_s = span.step(panel.get("maxDataPoints") or POINTS, variables.scrape_s)
    for target in panel.get("targets", []):
        if target.get("hide") or not target.get("expr"):
            continue
        query = variables.filled(target["expr"], step_s)
        instant = bool(target.get("instant")) and not target.get("range")
        found = api.at(query, span.end) if instant else api.over(query, span.aligned(step_s), step_s)
        rows = tuple(Named(name_of(series, target.get("legendFormat", "")), series) for series in found)
        yield Frame(target.get("refId", "A"), rows, instant, step_s)


def name_of(series: Series, legend: str) -> str:
    """The series' name in the legend; a label that it does not have leaves nothing."""
    if legend in {"", "__auto"}:
        inside = ", ".join(f'{key}="{value}"' for key, value in series.labels.items() if key != "__name__")
        return series.labels.get("__name__", "") + (f"{{{inside}}}" if inside else "") or "Value"
    return _LABEL.sub(lambda found: series.labels.get(found[1], ""), legend).strip()
