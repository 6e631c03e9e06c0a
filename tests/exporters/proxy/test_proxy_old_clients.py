"""Clients that speak HTTP/1.0, and clients that name no host."""

from __future__ import annotations

import pytest

from exporters.proxy.proxy_rig import ask, before, chunked, read_all, read_request, sidecar, sse_head
from exporters.proxy.proxy_rig import connection as connected
from exporters.raw_server import Visit, raw_server


def stream(visit: Visit) -> None:
    read_request(visit)
    visit.send(sse_head(), chunked(b"data: a\n\n"), b"0\r\n\r\n")


def hosts(head: bytes) -> list[bytes]:
    return [line.partition(b": ")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"host:")]


@pytest.mark.parametrize(
    ("version", "given", "rewrite", "wanted"),
    [
        ("1.0", (), False, [b"127.0.0.1:%d"]),
        ("1.0", ("a.example.com",), False, [b"a.example.com"]),
        ("1.0", ("a.example.com",), True, [b"127.0.0.1:%d"]),
        ("1.0", (), True, [b"127.0.0.1:%d"]),
        ("1.0", ("",), False, [b""]),
        ("1.1", (), False, []),  # malformed: the engine's own 400 is the answer
        ("1.1", (), True, [b"127.0.0.1:%d"]),
        ("1.1", ("a.example.com",), True, [b"127.0.0.1:%d"]),
    ],
)
@pytest.mark.parametrize("usage", [False, True])
def test_an_engine_is_told_a_host(
    version: str,
    given: tuple[str, ...],
    rewrite: bool,
    usage: bool,
    wanted: list[bytes],
) -> None:
    fields = "".join(f"Host: {host}\r\n" for host in given)
    sent = f"POST /v1/completions HTTP/{version}\r\n{fields}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}"
    with before(stream, rewrite_host=rewrite, request_usage=usage) as (engine, running):
        ask(running.port, sent.encode())
        assert hosts(engine.requests[0]) == [host % engine.port if b"%" in host else host for host in wanted]


@pytest.mark.parametrize("offer", ["upgrade", "upgrade, close", "Upgrade, HTTP2-Settings", "close"])
def test_an_offer_to_upgrade_does_not_make_a_client_younger(offer: str) -> None:
    sent = f"GET /x HTTP/1.0\r\nConnection: {offer}\r\nUpgrade: websocket\r\nHTTP2-Settings: AAM\r\n\r\n"
    with raw_server(stream) as engine, sidecar(f"127.0.0.1:{engine.port}") as running:
        with connected(running.port) as sock:
            sock.sendall(sent.encode())
            head, _, body = read_all(sock).partition(b"\r\n\r\n")
        assert body == b"data: a\n\n"
        assert b"Transfer-Encoding" not in head
        assert b"upgrade" not in engine.requests[0].lower()
