from __future__ import annotations

import socket
import threading
import time

import pytest

from exporters.proxy.fake_sides import Wiring
from exporters.proxy.proxy_rig import (
    CHAT,
    ask,
    before,
    body_of,
    chunked,
    connection,
    events,
    eventually,
    read_all,
    read_request,
    read_until,
    request,
    sample,
    sidecar,
    sse_head,
)
from exporters.raw_server import Visit, raw_server
from specwatch_exporters.proxy.run import RequestSidecar

STREAM = b'{"stream": true, "messages": [{"role": "user", "content": "hi"}]}'
TEXT = events('{"choices": [{"index": 0, "delta": {"content": "a"}}]}')


def nothing_is_left(running: RequestSidecar) -> bool:
    """Only idle connections to the engine may remain, and nothing under way."""
    return (
        running.service.client_count == 0
        and sample(running, "specwatch_request_in_flight") == 0
        and sample(running, "specwatch_request_oldest_waiting_seconds") == 0
    )


def finished(running: RequestSidecar, outcome: str) -> float:
    return sample(running, "specwatch_request_finished_total", outcome=outcome)


@pytest.mark.parametrize("moment", ["upload", "wait", "stream"])
@pytest.mark.parametrize("how", ["close", "reset", "half_close"])
def test_a_client_that_leaves_takes_its_request_along(moment: str, how: str) -> None:
    begun, gone = threading.Event(), threading.Event()

    def script(visit: Visit) -> None:
        if moment == "upload":
            visit.read_head()
        else:
            read_request(visit)
        begun.set()
        if moment == "stream":
            visit.send(sse_head(), chunked(TEXT))
        try:
            while visit.sock.recv(1000):
                pass
        except ConnectionError:
            pass
        gone.set()

    with before(script) as (_engine, running):
        with connection(running.port) as sock:
            sent = request(CHAT, STREAM)
            sock.sendall(sent[:-1] if moment == "upload" else sent)
            if moment == "stream":
                read_until(sock, b"\n\n\r\n")
            eventually(begun.is_set)
            if how == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            if how == "half_close":
                sock.shutdown(socket.SHUT_WR)
                eventually(gone.is_set, "the engine still works for a client that has left")
        eventually(gone.is_set, "the engine still works for a client that has left")
        eventually(lambda: nothing_is_left(running))
        eventually(lambda: finished(running, "aborted") == 1)
        assert running.service.pool.open_count == 0


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_stream_that_breaks_off_breaks_off_for_the_client(how: str) -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(sse_head(), chunked(TEXT))
        if how == "reset":
            time.sleep(0.1)
            visit.reset()

    with before(script) as (_, running):
        got = ask(running.port, request(CHAT, STREAM))
        assert got.endswith(chunked(TEXT))
        eventually(lambda: finished(running, "cut") == 1)
        eventually(lambda: nothing_is_left(running))


def test_a_body_with_a_length_that_breaks_off_is_short() -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    with before(script) as (_, running):
        assert ask(running.port, request("/x")).endswith(b"\r\n\r\nhalf")


def test_an_http_1_0_client_sees_a_reset_instead_of_an_end() -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(sse_head(), chunked(TEXT))

    with (
        raw_server(script) as engine,
        sidecar(f"127.0.0.1:{engine.port}") as running,
        connection(running.port) as sock,
    ):
        sock.sendall(request("/x").replace(b"HTTP/1.1", b"HTTP/1.0"))
        with pytest.raises(ConnectionResetError):
            read_all(sock)


def test_garbage_in_the_middle_of_a_stream_breaks_it_off() -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(sse_head(), chunked(TEXT))
        time.sleep(0.1)
        visit.send(b"garbage\r\n")
        visit.hang()

    with before(script) as (_, running):
        assert ask(running.port, request(CHAT, STREAM)).endswith(chunked(TEXT))
        eventually(lambda: finished(running, "cut") == 1)


def test_bytes_behind_the_answer_reach_nobody() -> None:
    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb")
        visit.hang()

    with before(script) as (_, running), connection(running.port) as sock:
        sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        assert read_until(sock, b"a").endswith(b"\r\n\r\na")
        eventually(lambda: running.service.pool.open_count == 0)
        sock.sendall(request("/y"))
        assert read_all(sock).endswith(b"\r\n\r\na")


def test_an_idle_connection_that_the_engine_closes_is_not_used_again() -> None:
    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")

    with (
        raw_server(script) as engine,
        sidecar(f"127.0.0.1:{engine.port}") as running,
        connection(running.port) as sock,
    ):
        for _ in range(3):
            sock.sendall(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            assert read_until(sock, b"x").startswith(b"HTTP/1.1 200 OK\r\n")
            eventually(lambda: running.service.pool.open_count == 0)


def test_a_slow_client_holds_the_engine_back() -> None:
    size, block = 64 * 1024 * 1024, bytes(65536)
    sent = []

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // len(block)):
            visit.send(block)
            sent.append(len(block))

    with (
        raw_server(script) as engine,
        sidecar(f"127.0.0.1:{engine.port}") as running,
        connection(running.port) as sock,
    ):
        sock.sendall(request("/x"))
        eventually(lambda: sent)
        _settled(sent)
        assert sum(sent) < size // 2, "the sidecar took in what its client does not read"
        assert len(body_of(read_all(sock))) == size


def test_a_client_that_is_behind_holds_the_next_answer_back_too() -> None:
    ask_twice = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
    with Wiring() as wiring:
        wiring.client.data_received(ask_twice)
        wiring.client.pause_writing()
        assert wiring.engines[0].transport.paused
        wiring.engines[0].connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        assert wiring.engines[1].transport.paused
        wiring.client.resume_writing()
        assert not wiring.engines[1].transport.paused


def test_a_slow_engine_holds_the_client_back() -> None:
    size, block = 64 * 1024 * 1024, bytes(65536)
    reads = threading.Event()
    received = []

    def script(visit: Visit) -> None:
        visit.read_head()
        reads.wait(20)
        received.append(len(visit.request.partition(b"\r\n\r\n")[2]))
        while sum(received) < size:
            received.append(len(visit.sock.recv(1 << 20)))
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with (
        raw_server(script) as engine,
        sidecar(f"127.0.0.1:{engine.port}") as running,
        connection(running.port) as sock,
    ):
        sent: list[int] = []

        def upload() -> None:
            sock.sendall(request("/x", headers={"Content-Length": str(size)}))
            for _ in range(size // len(block)):
                sock.sendall(block)
                sent.append(len(block))

        thread = threading.Thread(target=upload)
        thread.start()
        eventually(lambda: sent)
        _settled(sent)
        assert sum(sent) < size // 2, "the sidecar took in what its engine does not read"
        reads.set()
        thread.join()
        assert read_all(sock).endswith(b"ok")
    assert sum(received) == size


def _settled(progress: list[int]) -> None:
    """Wait until nothing has moved for a while."""
    before = -1
    while len(progress) != before:
        before = len(progress)
        time.sleep(0.2)


def test_stopping_lets_answers_finish() -> None:
    go_on = threading.Event()

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(sse_head(), chunked(b"first"))
        go_on.wait(20)
        visit.send(chunked(b"last"), b"0\r\n\r\n")

    with before(script, drain="20s") as (_, running):
        with connection(running.port) as sock, connection(running.port) as idle:
            sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
            read_until(sock, b"first\r\n")
            stopping = threading.Thread(target=running.stop)
            stopping.start()
            assert read_all(idle) == b""
            go_on.set()
            assert read_all(sock) == chunked(b"last") + b"0\r\n\r\n"
        stopping.join()
        with pytest.raises(OSError, match="refused"):
            ask(running.port, b"")


def test_stopping_cuts_off_what_does_not_finish() -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(sse_head(), chunked(b"first"))
        visit.hang()

    with before(script) as (_, running), connection(running.port) as sock:
        sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        read_until(sock, b"first\r\n")
        running.stop()
        assert not read_all(sock).endswith(b"0\r\n\r\n")
