"""Accepts clients' connections, but no more than there is room for."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from specwatch_exporters.proxy.sparse_log import SparseLog

_BACKLOG: Final = 1024
_BURST: Final = 64
_RETRY_S: Final = 1.0


class ClientListener:
    """A listener at work. Beyond its limit connections wait in the system's queue until others are gone.

    asyncio's own server has no limit, and out of descriptors it writes a traceback for every try.

    Args:
        listener: a bound socket; `close` closes it.
        limit: connections at a time.
        new_client: makes a connection's protocol.
        log: hears that connections have to wait.
    """

    def __init__(
        self, listener: socket.socket, limit: int, new_client: Callable[[], asyncio.Protocol], log: SparseLog
    ) -> None:
        self._listener = listener
        self._limit = limit
        self._new_client = new_client
        self._log = log
        self._open = 0
        self._accepting = False
        self._closed = False
        self._retry: asyncio.TimerHandle | None = None
        self._admissions: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Accept from now on, in the running loop."""
        self._listener.settimeout(0)
        self._listener.listen(_BACKLOG)
        self._resume()

    def left(self) -> None:
        """A connection is gone: there is room for another."""
        self._open -= 1
        if not self._accepting and self._retry is None and self._open < self._limit:
            self._resume()

    async def close(self) -> None:
        """Accept no more; connections that were accepted stay."""
        self._closed = True
        self._pause()
        if self._retry is not None:
            self._retry.cancel()
        self._listener.close()
        await asyncio.gather(*self._admissions)

    def _resume(self) -> None:
        self._retry = None
        if not self._closed:
            self._accepting = True
            asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    def _pause(self) -> None:
        if self._accepting:
            self._accepting = False
            asyncio.get_running_loop().remove_reader(self._listener.fileno())

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(_BURST):
            if self._open >= self._limit:
                self._pause()
                self._log.warn("full", f"{self._limit} clients are connected, as many as may be; further ones wait")
                return
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError as error:  # out of descriptors or memory: trying again at once would fail again
                self._pause()
                self._retry = loop.call_later(_RETRY_S, self._resume)
                self._log.warn("accept", f"cannot accept a client's connection: {error.strerror}")
                return
            self._open += 1
            admission = loop.create_task(self._admit(sock))
            self._admissions.add(admission)
            admission.add_done_callback(self._admissions.discard)

    async def _admit(self, sock: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._new_client, sock)
        except OSError as error:
            sock.close()
            self.left()
            self._log.warn("accept", f"cannot serve a client's connection: {error.strerror}")
