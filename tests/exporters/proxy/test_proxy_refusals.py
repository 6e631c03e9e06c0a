"""What the sidecar answers itself: requests that cannot be passed on, and engines that give no answer."""

from __future__ import annotations

import pytest

from exporters.proxy.proxy_rig import ask, before, chunked, connection, read_request, read_until, request, sidecar
from exporters.raw_server import Script, Visit, answer, raw_server
from specwatch_exporters.proxy.proxy_limits import ProxyLimits


def whole(response: bytes) -> Script:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(response)

    return script


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"CONNECT example.com:443 HTTP/1.1\r\n\r\n", 405),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000, 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n", 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b"x" * 1_500_000), 413),
    ],
)
def test_what_cannot_be_passed_on_is_refused_in_one_line(sent: bytes, status: int) -> None:
    with before(lambda visit: visit.hang(), max_body="1MiB") as (_, running):
        got = ask(running.port, sent)
    assert got.startswith(b"HTTP/1.1 %d " % status)
    assert b'{"error": {"message": "specwatch: ' in got


def test_a_refusal_waits_for_its_turn() -> None:
    with raw_server(answer(b"first")) as engine, sidecar(f"127.0.0.1:{engine.port}") as running:
        got = ask(running.port, b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/9.9\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"first" in got
    assert b"HTTP/1.1 400 Bad Request" in got


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (b"", b"without an answer"),
        (b"SSH-2.0-x\r\n", b"not valid"),
        (b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", b"not valid"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"not valid"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", b"not valid"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000, b"not valid"),
    ],
)
def test_an_engine_that_speaks_no_http_gives_502(response: bytes, why: bytes) -> None:
    with before(whole(response)) as (_engine, running):
        got = ask(running.port, request("/x"))
    assert got.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert why in got


def test_no_engine_gives_502_and_keeps_the_connection() -> None:
    with raw_server(answer(b"")) as engine:
        port = engine.port
    with sidecar(f"127.0.0.1:{port}") as running, connection(running.port) as sock:
        for _ in range(2):
            sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
            assert read_until(sock, b"}}").startswith(b"HTTP/1.1 502 Bad Gateway\r\n")


def test_an_idle_client_is_let_go() -> None:
    with before(answer(b""), ProxyLimits(idle_s=0.05)) as (_, running):
        assert ask(running.port, b"GET / HT") == b""
