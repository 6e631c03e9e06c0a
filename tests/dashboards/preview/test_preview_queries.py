"""Variables, events and answers: what is asked of a Prometheus, and what is made of its refusals."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from alerts.loopback_site import serving
from specwatch_dashboards.preview.marks import kinds_of
from specwatch_dashboards.preview.panel_data import asked
from specwatch_dashboards.preview.prometheus_api import PrometheusApi, QueryError
from specwatch_dashboards.preview.time_span import Span
from specwatch_dashboards.preview.variables import Choice, Variables, resolved

SPAN = Span(1000.0, 1600.0)


class Answering:
    """Gives each path one answer, and keeps what it was asked.

    Attributes:
        url: where it is.
        answers: status and body by path below `/api/v1`.
        asked: path and arguments of each request.
    """

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def give(self, path: str, data: Any) -> None:
        """Answer a path with success."""
        self.answers[path] = (200, json.dumps({"status": "success", "data": data}))

    def answer(self, target: str, form: str) -> tuple[int, str]:
        """Status and body for a request."""
        parts = urlsplit(target)
        path = unquote(parts.path).removeprefix("/api/v1/")
        self.asked.append((path, {name: values[0] for name, values in parse_qs(form or parts.query).items()}))
        return self.answers.get(path, (404, "nothing here"))


@pytest.fixture
def server() -> Iterator[Answering]:
    answering = Answering()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _answer(self, form: str) -> None:
            status, body = answering.answer(self.path, form)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with serving(Handler) as address:
        answering.url = f"http://{address}"
        yield answering


def variable(name: str, query: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "label": name.title(), "type": "query", "query": {"query": query}, "multi": True, **more}


def dashboard(*variables: dict[str, Any], events: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"templating": {"list": list(variables)}, "annotations": {"list": list(events)}}


ALL = {"includeAll": True, "allValue": ".*"}


def test_later_variables_depend_on_earlier_ones(server: Answering) -> None:
    server.give("label/namespace/values", ["b", "a"])
    server.give("label/model/values", ["m"])
    board = dashboard(
        {"name": "datasource", "type": "datasource", "label": "Data Source"},
        variable("namespace", "label_values(up, namespace)", **ALL),
        variable("model", 'label_values(up{namespace=~"$namespace"}, model)', **ALL),
        {"name": "published", "type": "textbox", "label": "Published", "current": {"value": "2.9"}},
    )
    found = resolved(board, PrometheusApi(server.url), SPAN, 15.0, {"namespace": ["a.b", "c"]})
    assert server.asked[0][1]["match[]"] == r'up{namespace=~"(a\\.b|c)"}'
    assert (server.asked[0][1]["start"], server.asked[0][1]["end"]) == ("1000.000", "1600.000")
    texts = [(one.label, one.text) for one in found.choices.values()]
    assert texts == [
        ("Data Source", f"{server.url}/"),
        ("Namespace", "a.b, c"),
        ("Model", "All (m)"),
        ("Published", "2.9"),
    ]
    assert found.filled('x{n=~"$namespace", m=~"${model}"} > $published') == r'x{n=~"(a\\.b|c)", m=~".*"} > 2.9'


def test_without_all_the_first_value_is_taken(server: Answering) -> None:
    server.give("label/pod/values", ["p2", "p1"])
    found = resolved(dashboard(variable("pod", "label_values(up, pod)")), PrometheusApi(server.url), SPAN, 15.0, {})
    assert found.choices["pod"] == Choice("Pod", "p1", "p1")


def test_variables_of_other_peoples_dashboards() -> None:
    board = dashboard(
        {"name": "slo", "type": "custom", "query": "0.5, 1, 2", "current": {"value": "1"}},
        {"name": "every", "type": "custom", "query": "a,b.c", "includeAll": True, "multi": True},
        {"name": "step", "type": "interval", "current": {"value": "5m"}},
        {"name": "filters", "type": "adhoc"},
        {"name": "odd", "type": "query", "query": "query_result(up)"},
    )
    api = PrometheusApi("http://127.0.0.1:9")
    found = resolved(board, api, SPAN, 15.0, {"filters": []}).choices
    values = {name: one.value for name, one in found.items()}
    assert values == {"slo": "1", "every": r"(a|b\\.c)", "step": "5m", "filters": "", "odd": ""}


def test_durations_of_grafana() -> None:
    variables = Variables({}, SPAN, 15.0)
    assert variables.filled("rate(x[$__rate_interval])", 30.0) == "rate(x[60s])"
    assert variables.filled("rate(x[$__rate_interval])", 300.0) == "rate(x[315s])"
    assert variables.filled("x[$__range:$__interval] $unknown", 30.0) == "x[600s:30s] $unknown"


def test_samples_in_a_row_are_one_event(server: Answering) -> None:
    points = [[60.0, "1"], [120.0, "1"], [180.0, "0"], [300.0, "2"]]
    server.give("query_range", {"result": [{"metric": {"model": "m"}, "values": points}]})
    event = {
        "name": "Alarms",
        "expr": "x",
        "enable": True,
        "iconColor": "#123456",
        "titleFormat": "Alarm {{model}}",
    }
    hidden = {**event, "hide": True}
    variables = Variables({}, SPAN, 15.0)
    (kind,) = kinds_of(dashboard(events=(hidden, event)), PrometheusApi(server.url), variables)
    assert (kind.letter, kind.name, kind.color) == ("A", "Alarms", "#123456")
    assert [(one.start, one.end, one.title) for one in kind.marks] == [
        (60.0, 120.0, "Alarm m"),
        (300.0, 300.0, "Alarm m"),
    ]
    assert server.asked[0][1]["step"] == "60"


def test_a_panel_asks_for_what_it_shows(server: Answering) -> None:
    server.give("query_range", {"result": [{"metric": {"pod": "p"}, "values": [[1000.0, "1"], [1015.0, "NaN"]]}]})
    server.give("query", {"result": [{"metric": {}, "value": [1600.0, "3"]}]})
    panel = {
        "maxDataPoints": 20,
        "targets": [
            {"refId": "A", "expr": 'x{p=~"$pod"}', "legendFormat": "{{pod}}"},
            {"refId": "B", "expr": "y", "instant": True, "range": False, "legendFormat": "now"},
            {"refId": "C", "expr": "z", "hide": True},
        ],
    }
    variables = Variables({"pod": Choice("Pod", "All", ".*")}, SPAN, 15.0)
    found = asked(panel, PrometheusApi(server.url), variables)
    assert [(row.name, row.series.last) for row in found.rows] == [("p", 1.0), ("now", 3.0)]
    assert found.step_s == 30.0
    assert [(path, given["query"]) for path, given in server.asked] == [
        ("query_range", 'x{p=~".*"}'),
        ("query", "y"),
    ]
    assert server.asked[0][1] == {"query": 'x{p=~".*"}', "start": "990.000", "end": "1590.000", "step": "30"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((400, '{"status": "error", "error": "parse error:\\n bad"}'), "parse error: bad"),
        ((503, "down"), "Prometheus answers 503"),
        ((200, "<html>"), "the answer is not that of a Prometheus API"),
        ((200, '{"status": "success", "data": {"result": [{"metric": {}}]}}'), "not that of a Prometheus API"),
    ],
)
def test_a_refusal_is_shown_on_the_panel(server: Answering, answer: tuple[int, str], said: str) -> None:
    server.answers["query_range"] = answer
    panel = {"targets": [{"refId": "A", "expr": "x"}]}
    assert said in asked(panel, PrometheusApi(server.url), Variables({}, SPAN, 15.0)).error


def test_nobody_listens_and_credentials_stay_unsaid() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(QueryError) as caught:
        PrometheusApi(f"http://me:secret@127.0.0.1:{port}").label_values("up", "pod", SPAN)
    assert "cannot be reached" in str(caught.value)
    assert "secret" not in str(caught.value)
