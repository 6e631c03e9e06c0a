"""Clients that misbehave hurt nobody else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import Gauge

from exporters.sidecar_server_rig import Sidecar, running
from specwatch_exporters.sidecar import request_handler
from specwatch_exporters.sidecar.server import MAX_CONNECTIONS


@pytest.fixture
def sidecar() -> Iterator[Sidecar]:
    with running() as found:
        yield found


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GARBAGE\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET / HTTP/x\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 20_000 + b"\r\n\r\n", b"431"),
    ],
)
def test_a_malformed_request_gets_one_plain_line(sidecar: Sidecar, request_: bytes, status: bytes) -> None:
    answer = sidecar.raw(request_)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"Content-Type: text/plain" in answer
    assert b"<" not in answer


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_bytes_hurt_it(sidecar: Sidecar, request_: bytes) -> None:
    answer = sidecar.raw(request_, b"\r\n\r\n\r\n")
    assert not answer or answer.startswith(b"HTTP/1.1 ") or request_.lstrip().startswith(b"GET")
    assert sidecar.ask("/healthz").status == 200


def test_a_client_that_leaves_is_no_error(sidecar: Sidecar, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", sidecar.server.port)) as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    assert sidecar.ask("/metrics").status == 200
    assert caplog.messages == []


@pytest.mark.parametrize("start", [b"", b"GET /metrics HTTP/1.1\r\nX: "])
def test_slow_clients_cannot_keep_others_out(sidecar: Sidecar, start: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(4 * MAX_CONNECTIONS):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", sidecar.server.port)))
            sock.sendall(start)
        for _ in range(5):
            assert sidecar.ask("/metrics").status == 200
        visits = [thread for thread in threading.enumerate() if thread.name == "specwatch-http-visit"]
        assert len(visits) <= MAX_CONNECTIONS


def test_clients_that_do_not_read_cannot_keep_others_out(sidecar: Sidecar) -> None:
    Gauge("y", "z" * 20_000_000, registry=sidecar.registry)
    with ExitStack() as stack:
        for _ in range(MAX_CONNECTIONS + 2):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", sidecar.server.port)))
            sock.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert sidecar.ask("/healthz").status == 200


def test_a_head_that_drips_ends_at_the_deadline(sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_handler, "HEAD_S", 0.2)
    with socket.create_connection(("127.0.0.1", sidecar.server.port), timeout=20) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert sock.recv(100) == b""


def test_many_at_once_are_all_served(sidecar: Sidecar) -> None:
    statuses: list[int] = []

    def ask() -> None:
        statuses.extend(sidecar.ask("/metrics").status for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(MAX_CONNECTIONS // 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 10 * len(threads)
