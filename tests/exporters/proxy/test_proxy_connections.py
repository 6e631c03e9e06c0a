"""How many clients may connect, what happens beyond that, and what is said about an engine out of reach."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import select
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.proxy.proxy_rig import CHAT, ask, before, connection, eventually, read_request, read_until, request
from exporters.proxy.proxy_rig import sidecar as sidecar_before
from exporters.raw_server import Visit, raw_server
from specwatch_exporters.proxy.client_listener import ClientListener
from specwatch_exporters.proxy.connect_problem import connect_problem
from specwatch_exporters.proxy.descriptor_limit import client_room
from specwatch_exporters.proxy.engine_pool import EnginePool
from specwatch_exporters.proxy.sparse_log import SparseLog

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
GET = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"


def serves(visit: Visit) -> None:
    while visit.sock.recv(65536):
        visit.send(OK)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "specwatch.proxy"]


def test_clients_beyond_the_limit_wait_until_others_have_left(caplog: pytest.LogCaptureFixture) -> None:
    with before(serves, max_connections="2") as (_, running), ExitStack() as stack:
        first, second = (stack.enter_context(connection(running.port)) for _ in range(2))
        for sock in (first, second):
            sock.sendall(GET)
            assert read_until(sock, b"x") == OK
        waiting = [stack.enter_context(connection(running.port)) for _ in range(5)]
        for sock in waiting:
            sock.sendall(GET)
        assert select.select(waiting, [], [], 0.2) == ([], [], [])
        assert running.service.client_count == 2
        first.close()
        for sock in waiting:
            assert read_until(sock, b"x") == OK
            sock.close()
        second.close()
        eventually(lambda: running.service.client_count == 0)
    assert lines_of(caplog) == ["2 clients are connected, as many as may be; further ones wait"]


def test_out_of_descriptors_it_says_so_once_and_lives_on(tmp_path: Path) -> None:
    command = f"ulimit -n 64; exec {Path(sys.executable).with_name('specwatch')} proxy run --upstream 127.0.0.1:%d"
    listen = ("--listen 127.0.0.1:0", "--admin-listen 127.0.0.1:0")
    log = tmp_path / "log"
    with (
        raw_server(serves) as engine,
        log.open("w") as stderr,
        subprocess.Popen(["/bin/sh", "-c", " ".join((command % engine.port, *listen))], stderr=stderr) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)
        eventually(lambda: "metrics on port" in log.read_text())
        words = log.read_text().split()
        port, admin = int(words[words.index("port") + 1]), int(words[-1])
        idle = [stack.enter_context(connection(port)) for _ in range(100)]
        for sock in idle[:16]:
            sock.sendall(GET)
            assert read_until(sock, b"x") == OK
        for _ in range(5):
            with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics") as page:
                assert page.status == 200
        for sock in idle:
            sock.close()
        assert ask(port, request("/x")).endswith(b"x")
        _, *more = log.read_text().splitlines()
        assert len(more) == 1
        assert "16 clients are connected" in more[0]


class Broken(socket.socket):
    """A listener of a process that has no descriptor left, for so many tries."""

    tries = 0
    failures = 2

    def accept(self) -> tuple[socket.socket, object]:
        self.tries += 1
        if self.tries <= self.failures:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


def test_a_failing_accept_is_tried_again_later(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specwatch_exporters.proxy.client_listener._RETRY_S", 0.01)

    async def serve() -> None:
        joined: asyncio.Future[asyncio.BaseTransport] = asyncio.get_running_loop().create_future()

        class Client(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                joined.set_result(transport)

        broken = Broken(socket.AF_INET)
        broken.bind(("127.0.0.1", 0))
        listener = ClientListener(broken, 5, Client, SparseLog(logging.getLogger("specwatch.proxy"), lambda: 0.0))
        listener.start()
        _, writer = await asyncio.open_connection(*broken.getsockname())
        (await joined).close()
        await listener.close()
        writer.close()
        await writer.wait_closed()

    asyncio.run(serve())
    assert lines_of(caplog) == ["cannot accept a client's connection: Too many open files"]


@given(st.integers(1, 1 << 20))
def test_room_for_clients_leaves_room_for_the_rest(files: int) -> None:
    room = client_room(files)
    assert room >= 1
    assert files < 4 or 2 * room + min(64, files // 2) <= files
    assert client_room(files + 1) >= room


def test_no_limit_on_files_is_still_a_number() -> None:
    assert client_room(resource.RLIM_INFINITY) == client_room(1 << 20)


def test_why_the_engine_cannot_be_reached_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with sidecar_before(f"127.0.0.1:{port}") as running:
        for _ in range(5):
            assert ask(running.port, request(CHAT, b"{}")).startswith(b"HTTP/1.1 502 ")
    assert lines_of(caplog) == [f"the engine at 127.0.0.1:{port} cannot be reached: connection refused"]


def test_an_engine_that_does_not_speak_tls_is_named(caplog: pytest.LogCaptureFixture) -> None:
    def script(visit: Visit) -> None:
        visit.sock.recv(65536)
        visit.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with raw_server(script) as engine, sidecar_before(f"https://127.0.0.1:{engine.port}") as running:
        assert ask(running.port, request("/x")).startswith(b"HTTP/1.1 502 ")
    (line,) = lines_of(caplog)
    assert line.startswith(f"the engine at 127.0.0.1:{engine.port} cannot be reached: it does not speak TLS")


def test_an_engine_that_speaks_something_else_is_named(caplog: pytest.LogCaptureFixture) -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(b"\x15\x03\x03\x00\x02\x02\x46")

    with before(script) as (engine, running):
        for _ in range(3):
            assert ask(running.port, request("/x")).startswith(b"HTTP/1.1 502 ")
    (line,) = lines_of(caplog)
    assert line.startswith(f"the engine at 127.0.0.1:{engine.port} sent no valid HTTP/1.1: ")


UNTRUSTED = ssl.SSLCertVerificationError(1, "x")
UNTRUSTED.verify_message = "self-signed certificate"
NO_TLS, FAILED = ssl.SSLError(1, "x"), ssl.SSLError(1, "x")
NO_TLS.reason, FAILED.reason = "WRONG_VERSION_NUMBER", "TLSV1_ALERT_INTERNAL_ERROR"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (TimeoutError(), "it did not accept a connection within 5 s"),
        (OSError(errno.ETIMEDOUT, "x"), "connection timed out"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), "connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "not known"), "its name cannot be looked up (not known)"),
        (UnicodeError("label too long"), "its name is no host name"),
        (OSError("Multiple exceptions: a, b"), "Multiple exceptions: a, b"),
        (UNTRUSTED, "its certificate is not trusted: self-signed certificate"),
        (NO_TLS, "it does not speak TLS (wrong version number); try http"),
        (FAILED, "the TLS handshake failed: tlsv1 alert internal error"),
    ],
)
def test_every_reason_has_its_words(error: Exception, problem: str) -> None:
    assert connect_problem(error, 5.0) == problem


def test_a_sparse_log_says_how_much_it_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    sparse = SparseLog(logging.getLogger("specwatch.proxy"), lambda: now[0], 30.0)
    for at in (0.0, 1.0, 29.0, 30.0, 61.0):
        now[0] = at
        sparse.warn("a", f"a at {at:g}")
    sparse.warn("b", "b")
    assert lines_of(caplog) == ["a at 0", "a at 30 (and 2 times since the last such line)", "a at 61", "b"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_upstream_that_leads_back_is_found_by_its_first_request(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A name that only the resolver knows cannot be told beforehand; port 0 stands for it here."""
    with sidecar_before(f"{host}:1") as running:
        pool = running.service.pool
        assert isinstance(pool, EnginePool)
        pool._target = pool._target._replace(port=running.port)
        answers = [ask(running.port, request(CHAT, b"{}")) for _ in range(3)]
        assert all(answer.startswith(b"HTTP/1.1 508 Loop Detected\r\n") for answer in answers)
        eventually(lambda: running.service.client_count == 0)
        threads = [thread for thread in threading.enumerate() if thread.name == "specwatch-proxy"]
        assert len(threads) == 1
    assert lines_of(caplog) == ["--upstream leads back to the sidecar itself: requests go round in a circle"]


def test_a_client_may_have_the_port_of_a_connection_to_the_engine() -> None:
    """The system gives one port to several connections, if they go to different addresses."""
    with before(serves) as (engine, running), connection(running.port) as first:
        first.sendall(GET)
        assert read_until(first, b"x") == OK
        pool = running.service.pool
        assert isinstance(pool, EnginePool)
        (ours,) = pool._all
        assert ours.ends is not None
        assert ours.ends.called == ("127.0.0.1", engine.port)
        same_port = ours.ends._replace(called=("127.0.0.1", running.port))
        assert running.service.pool.is_own(ours.ends)
        assert not running.service.pool.is_own(same_port)
        assert not running.service.pool.is_own(None)
