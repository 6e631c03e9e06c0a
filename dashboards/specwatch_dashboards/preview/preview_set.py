"""Draws a set of dashboards into a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from specwatch_dashboards.preview.drawable import drawable, with_titles
from specwatch_dashboards.preview.look import Look
from specwatch_dashboards.preview.marks import kinds_of
from specwatch_dashboards.preview.page import Json, page, page_height
from specwatch_dashboards.preview.panel_data import asked
from specwatch_dashboards.preview.panel_view import panel_view
from specwatch_dashboards.preview.prometheus_api import PrometheusApi
from specwatch_dashboards.preview.time_span import Span, since_of
from specwatch_dashboards.preview.variables import resolved

SCRAPE_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Order:
    """What is wanted.

    Attributes:
        now: epoch seconds; the end of the time shown.
        since_s: length of the time shown; None for what each dashboard says.
        scrape_s: how often Prometheus scrapes, as in Grafana's data source.
        chosen: values of variables by name; the others are at All.
        look: light or dark.
        caption: what the reader should know of the numbers.
    """

    now: float
    since_s: float | None = None
    scrape_s: float = SCRAPE_S
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    look: Look = Look.AUTO
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page that was written.

    Attributes:
        path: of the HTML file.
        height: pixels that it takes at most.
    """

    path: Path
    height: int


def preview(
    dashboards: Mapping[str, Mapping[str, Any]], api: PrometheusApi, folder: Path, order: Order
) -> Iterator[Drawn]:
    """Write `<uid>.html` for each dashboard into a folder, which is made; says each when it is written.

    Raises:
        QueryError: the server cannot be asked.
        SpanError: a dashboard's time range is of a kind that cannot be shown.
        OSError: a file cannot be written.
    """
    api.check()
    folder.mkdir(parents=True, exist_ok=True)
    titles = {uid: str(one.get("title") or uid) for uid, one in dashboards.items()}
    for uid, one in ((uid, drawable(one)) for uid, one in dashboards.items()):
        path = folder / f"{uid}.html"
        path.write_text(_page(one, api, order, titles), encoding="utf-8")
        yield Drawn(path, page_height(one))


def _page(dashboard: Json, api: PrometheusApi, order: Order, titles: Mapping[str, str]) -> str:
    length = order.since_s or since_of(dashboard.get("time", {}).get("from", "now-6h"))
    span = Span(order.now - length, order.now)
    variables = resolved(dashboard, api, span, order.scrape_s, order.chosen)
    kinds = kinds_of(dashboard, api, variables)

    def draw(panel: Json) -> str:
        return panel_view(panel, asked(panel, api, variables), span, kinds)

    titled = {**dashboard, "panels": with_titles(dashboard["panels"], variables.words)}
    return page(titled, variables, kinds, draw, order.look, order.caption, titles)
