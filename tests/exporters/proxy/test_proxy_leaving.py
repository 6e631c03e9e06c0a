"""A client's leaving is seen although nothing is read from it just then."""

from __future__ import annotations

import socket
import threading

import pytest

from exporters.proxy.proxy_rig import (
    CHAT,
    before,
    connection,
    eventually,
    read_request,
    read_until,
    request,
    sample,
)
from exporters.raw_server import Visit
from specwatch_exporters.proxy.run import RequestSidecar

POST = request(CHAT, b'{"stream": true}', headers={"Connection": "keep-alive"})
BEHIND = {
    "nothing": b"",
    "another request": POST,
    "many requests": POST * 20,
    "too many requests": POST * 40,
    "half a request": POST[:-3],
    "garbage": b"garbage\r\n\r\n",
    "more than is read": POST[:-16] + b"x" * 300_000,
}


def nothing_is_left(running: RequestSidecar) -> bool:
    return running.service.client_count == 0 and sample(running, "specwatch_request_in_flight") == 0


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("how", ["close", "reset", "half_close"])
def test_whatever_stands_behind_a_request(behind: bytes, how: str) -> None:
    arrived, gone = threading.Event(), threading.Event()

    def script(visit: Visit) -> None:
        read_request(visit)
        arrived.set()
        try:
            while visit.sock.recv(65536):
                pass
        except ConnectionError:
            pass
        gone.set()

    with before(script) as (_, running):
        with connection(running.port) as sock:
            sock.sendall(POST + behind)
            eventually(arrived.is_set)
            eventually(lambda: sample(running, "specwatch_request_in_flight") >= 1)
            if how == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            if how == "half_close":
                sock.shutdown(socket.SHUT_WR)
                eventually(gone.is_set, "the engine still works for a client that has left")
        eventually(gone.is_set, "the engine still works for a client that has left")
        eventually(lambda: nothing_is_left(running))


def test_a_client_that_leaves_while_the_engine_does_not_read() -> None:
    stop = threading.Event()

    def script(visit: Visit) -> None:
        visit.read_head()
        stop.wait(20)

    with before(script) as (_, running):
        with connection(running.port) as sock:
            sock.sendall(request(CHAT, headers={"Content-Length": str(60 << 20), "Connection": "keep-alive"}))
            sock.settimeout(0.3)
            try:
                while True:
                    sock.sendall(bytes(65536))
            except TimeoutError:
                pass
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        eventually(lambda: nothing_is_left(running))
        stop.set()


def test_a_connection_is_read_again_behind_a_hold() -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")

    with before(script) as (_, running), connection(running.port) as sock:
        for _ in range(20):
            sock.sendall(POST * 2)
            got = read_until(sock, b"x")
            while got.count(b"\r\n\r\nx") < 2:
                got += read_until(sock, b"x")
        sock.close()
        eventually(lambda: nothing_is_left(running))
        assert sample(running, "specwatch_request_finished_total", outcome="aborted") == 0
