"""Dashboards of other people, as odd as Grafana still takes them, are drawn without a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alerts.loopback_site import serving
from specwatch_dashboards.preview.preview_set import Order, preview
from specwatch_dashboards.preview.prometheus_api import PrometheusApi

PLACE = {"x": 0, "y": 0, "w": 12, "h": 8}
ASKS = {"targets": [{"refId": "A", "expr": "up"}]}
KINDS = ("timeseries", "stat", "bargauge", "heatmap", "table", "state-timeline", "text", "gauge", "row")


@pytest.fixture(scope="module")
def up() -> Iterator[PrometheusApi]:
    """A Prometheus with one series."""
    series = {
        "metric": {"job": "a"},
        "values": [[1_699_999_000, "1"], [1_700_000_000, "2"]],
        "value": [1_700_000_000, "2"],
    }
    body = json.dumps({"status": "success", "data": {"result": [series]}}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with serving(Handler) as address:
        yield PrometheusApi(f"http://{address}")


def drawn(api: PrometheusApi, folder: Path, *panels: Any, **more: Any) -> str:
    board = {"uid": "odd", "title": "Odd", "panels": list(panels), **more}
    (page,) = preview({"odd": board}, api, folder, Order(1_700_000_000.0))
    return page.path.read_text()


@pytest.mark.parametrize(
    ("panel", "said"),
    [
        ({"type": "stat", "title": "no place", **ASKS}, "no place"),
        ({"title": "no kind", **ASKS}, "does not draw panels of the kind unknown"),
        ({"title": "L", "libraryPanel": {"uid": "x"}, "gridPos": PLACE, **ASKS}, "of the kind library panel"),
        ({"type": "row", "title": "closed", "collapsed": True, "panels": None}, "closed"),
        ({"type": "stat", "title": None, "description": None, "fieldConfig": None, "options": None, **ASKS}, "<b "),
        ({"type": "timeseries", "title": "$cluster and $other", "gridPos": PLACE}, "<h3>prod and $other</h3>"),
        (None, "Preview."),
    ],
)
def test_an_odd_panel(up: PrometheusApi, tmp_path: Path, panel: Any, said: str) -> None:
    chosen = {"name": "cluster", "type": "custom", "query": "prod", "current": {"value": "prod"}}
    assert said in drawn(up, tmp_path, panel, templating={"list": [chosen]})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_left_out_or_null_is_drawn(up: PrometheusApi, tmp_path: Path, data: st.DataObject) -> None:
    whole: dict[str, Any] = {
        "type": data.draw(st.sampled_from(KINDS)),
        "title": "T",
        "description": "D",
        "gridPos": PLACE,
        "fieldConfig": {"defaults": {"unit": "s", "custom": {}, "mappings": []}, "overrides": []},
        "options": {"content": "x", "legend": {"calcs": ["max"]}, "reduceOptions": {"calcs": ["mean"]}},
        "transformations": [],
        "links": [],
        **ASKS,
    }
    left = data.draw(st.sets(st.sampled_from(sorted(whole))))
    null = data.draw(st.booleans())
    panel = {name: value for name, value in whole.items() if name not in left}
    assert "Preview." in drawn(up, tmp_path, {**panel, **(dict.fromkeys(left) if null else {})})
