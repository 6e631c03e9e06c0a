"""Routes of the sidecar, and where it listens."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector

from exporters.sidecar_server_rig import PROMETHEUS_ACCEPT, Sidecar, running
from exporters.status_samples import SAMPLES
from specwatch_exporters.sidecar.server import ListenError, RunningServer
from specwatch_exporters.sidecar.setting_values import Listen
from specwatch_exporters.sidecar.status_page import CONTENT_SECURITY_POLICY, render_page


@pytest.fixture
def sidecar() -> Iterator[Sidecar]:
    with running() as found:
        yield found


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; version=0.0.4"),
        ("*/*", "text/plain; version=0.0.4"),
        ("text/html", "text/plain; version=0.0.4"),
        (PROMETHEUS_ACCEPT, "application/openmetrics-text; version=1.0.0"),
        ("application/openmetrics-text", "application/openmetrics-text"),
        ("text/plain; version=nonsense", "text/plain; version=0.0.4"),
        ("application/openmetrics-text; version=1.x", "text/plain; version=0.0.4"),
        ("application/openmetrics-text; version=", "text/plain; version=0.0.4"),
        ("\xff;;;,,,=;version", "text/plain; version=0.0.4"),
    ],
)
def test_metrics_by_the_accept_header(sidecar: Sidecar, accept: str, content_type: str) -> None:
    reply = sidecar.ask("/metrics", Accept=accept)
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith(content_type)
    openmetrics = content_type.startswith("application")
    parse = parse_openmetrics if openmetrics else parse_text
    families = {family.name: family for family in parse(reply.text)}
    assert families["specwatch_scrape_success"].samples[0].value == 1
    assert reply.headers["Vary"] == "Accept"


def test_metrics_by_name(sidecar: Sidecar) -> None:
    text = sidecar.ask("/metrics?name[]=x_3").text
    assert "x_3 0.0" in text
    assert "x_4" not in text


@pytest.mark.parametrize(
    ("encoding", "compressed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5, br", True),
        ("x-gzip", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, identity", False),
        ("identity", False),
        ("notgzip", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/", "/status.json"])
def test_gzip_where_the_client_takes_it(sidecar: Sidecar, path: str, encoding: str, compressed: bool) -> None:
    reply = sidecar.ask(path, Accept_Encoding=encoding)
    assert (reply.headers["Content-Encoding"] == "gzip") is compressed
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    assert reply.text == sidecar.ask(path, Accept_Encoding="").text


def test_the_status_page(sidecar: Sidecar) -> None:
    reply = sidecar.ask("/?from=phone")
    assert (reply.status, reply.text) == (200, render_page(SAMPLES["active"]).decode())
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert reply.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert reply.headers["Referrer-Policy"] == "no-referrer"


def test_the_status_as_json(sidecar: Sidecar) -> None:
    sidecar.status = SAMPLES["stale"]
    reply = sidecar.ask("/status.json")
    assert reply.headers["Content-Type"] == "application/json"
    assert json.loads(reply.text)["scrape"]["cause"] == "refused"


def test_health_and_readiness_are_two_things(sidecar: Sidecar) -> None:
    sidecar.state = (False, "no page from the engine yet (refused)")
    not_ready, alive = sidecar.ask("/readyz"), sidecar.ask("/healthz")
    assert (not_ready.status, not_ready.text) == (503, "no page from the engine yet (refused)\n")
    assert (alive.status, alive.text) == (200, "alive\n")
    sidecar.state = (True, "")
    ready = sidecar.ask("/readyz")
    assert (ready.status, ready.text) == (200, "ready\n")


@pytest.mark.parametrize(
    "path", ["/nothing", "/metrics/x", "//x", "/%2e%2e/etc/passwd", "/favicon.ico", "http://[x/"]
)
def test_other_paths_are_told_what_there_is(sidecar: Sidecar, path: str) -> None:
    answer = sidecar.raw(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    for known in (b"/metrics", b"/healthz", b"/readyz", b"/status.json"):
        assert known in answer


@pytest.mark.parametrize("target", ["/metrics/", "/metrics?", "http://sidecar.example.com/metrics", "//metrics"])
def test_other_spellings_of_a_path(sidecar: Sidecar, target: str) -> None:
    answer = sidecar.raw(f"GET {target} HTTP/1.1\r\n\r\n".encode())
    assert b"specwatch_scrape_success 1.0" in answer


@pytest.mark.parametrize("path", ["/metrics", "/", "/healthz", "/nothing"])
def test_head_is_get_without_the_body(sidecar: Sidecar, path: str) -> None:
    head, get = sidecar.ask(path, "HEAD"), sidecar.ask(path)
    assert (head.status, head.body) == (get.status, b"")
    assert int(head.headers["Content-Length"]) == len(get.body)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_only_get_and_head(sidecar: Sidecar, method: str) -> None:
    reply = sidecar.ask("/metrics", method, body="x" * 30_000 if method == "POST" else None)
    assert reply.status == 405
    assert reply.headers["Allow"] == "GET, HEAD"


def test_a_body_is_not_waited_for(sidecar: Sidecar) -> None:
    head = b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\nExpect: 100-continue\r\n\r\n"
    answer = sidecar.raw(head)
    assert answer.startswith(b"HTTP/1.1 405 ")


@pytest.mark.parametrize("path", ["/metrics", "/", "/nothing"])
def test_headers_say_little_and_say_it_safely(sidecar: Sidecar, path: str) -> None:
    headers = sidecar.ask(path).headers
    assert "Server" not in headers
    assert headers["Connection"] == "close"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Date"].endswith("GMT")


# Errors inside.


class Broken(Collector):
    """A collector with a fault."""

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        raise RuntimeError("a secret detail")


def test_a_fault_in_a_collector_is_one_line_in_the_log(sidecar: Sidecar, caplog: pytest.LogCaptureFixture) -> None:
    sidecar.registry.register(Broken())
    with caplog.at_level(logging.INFO):
        reply = sidecar.ask("/metrics")
    assert reply.status == 500
    assert "secret" not in reply.text
    assert "Traceback" not in reply.text
    assert caplog.messages == ["/metrics failed: RuntimeError: a secret detail"]
    assert caplog.records[0].exc_text is None
    assert sidecar.ask("/healthz").status == 200


def test_a_fault_in_the_status_leaves_the_metrics_alone(sidecar: Sidecar) -> None:
    sidecar.status = None  # type: ignore[assignment]
    assert sidecar.ask("/").status == 500
    assert sidecar.ask("/status.json").status == 500
    assert sidecar.ask("/metrics").status == 200


def test_an_address_that_is_taken_is_one_clear_line(sidecar: Sidecar) -> None:
    taken = Listen("127.0.0.1", sidecar.server.port)
    with pytest.raises(ListenError) as caught:
        Sidecar(taken)
    assert str(caught.value) == f"cannot listen on {taken}: Address already in use"
    assert caught.value.strerror == "Address already in use"


@pytest.mark.parametrize("host", ["203.0.113.7", "a" * 70, "::ffff:203.0.113.7"])
def test_an_address_of_another_machine(host: str) -> None:
    with pytest.raises(ListenError, match="cannot listen on "):
        Sidecar(Listen(host, 0))


def test_every_address_is_ipv4_and_ipv6() -> None:
    with running(Listen("", 0)) as sidecar:
        for host in ("127.0.0.1", "::1") if socket.has_dualstack_ipv6() else ("127.0.0.1",):
            with socket.create_connection((host, sidecar.server.port), timeout=20) as sock:
                sock.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert sock.recv(15) == b"HTTP/1.1 200 OK"


def test_ipv6() -> None:
    with running(Listen("::1", 0)) as sidecar, socket.create_connection(("::1", sidecar.server.port)) as sock:
        sock.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert sock.recv(15) == b"HTTP/1.1 200 OK"


def test_closing_frees_the_port_and_cuts_clients_off() -> None:
    sidecar = Sidecar()
    server: RunningServer = sidecar.server
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as sock:
        sock.sendall(b"GET /")
        assert sidecar.ask("/healthz").status == 200
        server.close()
        assert sock.recv(1) == b""
    server.close()
    with pytest.raises(ConnectionRefusedError):
        sidecar.ask("/healthz")


def descriptors() -> set[str]:
    folder = Path("/proc/self/fd")
    links = [folder / name for name in os.listdir(folder)]  # noqa: PTH208
    return {str(link.readlink()) for link in links if link.is_symlink()}


def test_nothing_stays_behind() -> None:
    threads, open_before = set(threading.enumerate()), descriptors()
    with running() as sidecar:
        for path in ("/metrics", "/", "/nothing", "/status.json"):
            sidecar.ask(path)
    assert set(threading.enumerate()) - threads == set()
    assert descriptors() - open_before == set()
