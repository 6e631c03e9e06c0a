from __future__ import annotations

import socket
import threading

from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread


def test_chunks_do_not_wait_for_the_clients_acknowledgement() -> None:
    """With Nagle's algorithm on, asyncio's own loop added 40 ms to a chunk."""
    seen: list[int] = []
    known = threading.Event()

    def look(sidecar: RequestSidecar) -> None:
        for client in sidecar.service._clients:
            assert client._transport is not None
            sock = client._transport.get_extra_info("socket")
            seen.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        known.set()

    with ReplayThread(ReplaySettings(speed=50)) as engine:
        settings = load({"upstream": engine.url, "listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}, {})
        with RequestSidecar(settings) as sidecar, socket.create_connection(("127.0.0.1", sidecar.port)) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
            assert sidecar._loop is not None
            sidecar._loop.call_soon_threadsafe(look, sidecar)
            assert known.wait(10)
    assert seen == [1]
