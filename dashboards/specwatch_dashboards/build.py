"""Builds all dashboards and their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from specwatch_dashboards.grafana.dashboard import Dashboard
from specwatch_dashboards.grafana.plain_json import Json
from specwatch_dashboards.metric_check import check_metrics
from specwatch_dashboards.pages.capacity import capacity
from specwatch_dashboards.pages.draft import draft
from specwatch_dashboards.pages.fallback import fallback
from specwatch_dashboards.pages.latency import latency
from specwatch_dashboards.pages.speculation import speculation
from specwatch_dashboards.source import Source

PAGES: Final[tuple[Callable[[Source], Dashboard], ...]] = (speculation, latency, draft, fallback, capacity)


def build(source: Source) -> dict[str, Json]:
    """All dashboards by uid, in the order in which they are read.

    Raises:
        UnknownMetricError: a query reads a metric that nobody knows.
    """
    made = {}
    for page in PAGES:
        body = page(source).body()
        check_metrics(body, source)
        made[body["uid"]] = body
    return made


def write(folder: Path, source: Source) -> list[Path]:
    """Write `<uid>.json` for each into a folder, which is made; files there that are no dashboards stay.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for uid, body in build(source).items():
        path = folder / f"{uid}.json"
        path.write_text(file_text(body), encoding="utf-8")
        paths.append(path)
    return paths


def file_text(dashboard: Json) -> str:
    """The JSON as it stands in a file."""
    return json.dumps(dashboard, indent=2, ensure_ascii=False) + "\n"
