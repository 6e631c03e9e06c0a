"""A whole dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from specwatch_dashboards.grafana.annotations import Event, event_list
from specwatch_dashboards.grafana.grafanalib_core import core
from specwatch_dashboards.grafana.layout import Row, placed
from specwatch_dashboards.grafana.links import TAG, set_links
from specwatch_dashboards.grafana.plain_json import Json, plain

# The last version that Grafana 10 to 13 all read without moving anything; 42 is the last of this format.
SCHEMA_VERSION: Final = 39
_SHARED_CROSSHAIR: Final = 1
_DROPPED: Final = ("__inputs", "rows", "style", "hideControls", "sharedCrosshair", "gnetId", "timepicker")


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard before it is JSON.

    Attributes:
        uid: stable name in links, at most 40 characters.
        title: heading.
        description: what it answers.
        variables: JSON of its variables, in order.
        events: its annotations.
        rows: its panels.
        since: time range at first.
        refresh: how often it asks again.
    """

    uid: str
    title: str
    description: str
    variables: tuple[Json, ...]
    events: tuple[Event, ...]
    rows: tuple[Row, ...]
    since: str = "now-6h"
    refresh: str = "1m"

    def body(self) -> Json:
        """Its JSON, schema version 39."""
        made: Any = core.Dashboard(
            title=self.title,
            description=self.description,
            uid=self.uid,
            tags=[TAG],
            schemaVersion=SCHEMA_VERSION,
            graphTooltip=_SHARED_CROSSHAIR,
            time=core.Time(self.since, "now"),
            timezone="browser",
            refresh=self.refresh,
            editable=False,
            version=1,
        )
        raw = {key: value for key, value in plain(made).items() if key not in _DROPPED}
        return {
            **raw,
            "fiscalYearStartMonth": 0,
            "timepicker": {},
            "annotations": event_list(self.events),
            "templating": {"list": list(self.variables)},
            "links": set_links(),
            "panels": placed(self.rows),
        }
