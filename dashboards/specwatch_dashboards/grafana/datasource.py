"""The data source of every panel and query: the one that the dashboard's variable names."""

from __future__ import annotations

from typing import Final

from specwatch_dashboards.grafana.plain_json import Json

DATASOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
# Grafana's own source, from which a dashboard's built-in annotations come.
BUILT_IN: Final[Json] = {"type": "grafana", "uid": "-- Grafana --"}
