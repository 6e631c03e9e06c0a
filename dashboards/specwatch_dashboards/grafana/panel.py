"""A panel before it has its place, and what all kinds have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from specwatch_dashboards.grafana.datasource import DATASOURCE
from specwatch_dashboards.grafana.links import PanelLink
from specwatch_dashboards.grafana.plain_json import Json, merged, plain
from specwatch_dashboards.grafana.query import Query

# What Grafana still reads of grafanalib's panels; all else is of versions before 8.
_KEPT = ("type", "title", "description", "targets", "transformations", "fieldConfig", "options", "transparent")
PLUGIN_VERSION = "11.6.0"


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel without its place.

    Attributes:
        width: in Grafana's 24 columns.
        height: in Grafana's rows of 30 pixels.
        body: its JSON, but for `id` and `gridPos`.
    """

    width: int
    height: int
    body: Json


@dataclass(frozen=True, slots=True)
class About:
    """What every panel says of itself.

    Attributes:
        title: short.
        description: what is shown, and what good looks like.
        unit: Grafana's name of the unit.
        no_value: text where there is nothing to show.
        links: where to look next.
        width: in Grafana's 24 columns.
        height: in Grafana's rows of 30 pixels.
    """

    title: str
    description: str
    unit: str
    no_value: str = "No data"
    links: tuple[PanelLink, ...] = ()
    width: int = 8
    height: int = 8


def finished(
    made: Any,
    about: About,
    queries: Sequence[Query],
    *,
    options: Json,
    defaults: Json,
    overrides: Sequence[Json] = (),
    transformations: Sequence[Json] = (),
) -> Panel:
    """The panel out of one of grafanalib's: dead keys go, what Grafana needs comes.

    Args:
        made: panel of grafanalib.
        about: title, description, unit and so on.
        queries: its queries, the first is A.
        options: of this kind of panel, over grafanalib's.
        defaults: of its fields, over grafanalib's.
        overrides: for single fields.
        transformations: of its data.
    """
    raw = plain(made)
    kept = {key: value for key, value in raw.items() if key in _KEPT}
    own = {
        "title": about.title,
        "description": about.description,
        "datasource": DATASOURCE,
        "pluginVersion": PLUGIN_VERSION,
        "targets": [query.target(position) for position, query in enumerate(queries)],
        "links": [link.body() for link in about.links],
        "transformations": list(transformations),
        "options": options,
        "fieldConfig": {
            "defaults": merged(defaults, {"unit": about.unit, "noValue": about.no_value}),
            "overrides": list(overrides),
        },
    }
    return Panel(about.width, about.height, merged(kept, own))
