"""As much as a proxy can carry: chunks one by one, chunks back to back, and small replies."""

from __future__ import annotations

import asyncio
import struct
from abc import ABC, abstractmethod
from dataclasses import replace

from bench_proxy import wire
from bench_proxy.load_client import Client
from bench_proxy.load_job import Figures, LoadJob, Window


class CountingLoad(ABC):
    """Counts what arrives while the window is open."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._count = 0

    def begin(self, clients: list[Client]) -> None:
        """Send the first request on every connection."""
        for client in clients:
            client.send(self._body(client))

    def reply_ended(self, client: Client) -> None:
        """Send the next request."""
        client.send(self._body(client))

    def chunks_came(self, client: Client, stamps: list[bytes]) -> None:
        """Count them."""
        del client
        self._add(len(stamps))

    def figures(self, measured: Figures) -> Figures:
        """The count."""
        return measured | {"count": self._count}

    def _add(self, number: int) -> None:
        if self._window.is_open:
            self._count += number

    @abstractmethod
    def _body(self, client: Client) -> bytes:
        """The request to send."""


class SmallReplies(CountingLoad):
    """Requests with a small JSON reply, one after the other on every connection."""

    _request = wire.request_body(wire.StreamOrder("whole"))

    def reply_ended(self, client: Client) -> None:
        """Count a reply and ask for the next."""
        self._add(1)
        super().reply_ended(client)

    def _body(self, client: Client) -> bytes:
        del client
        return self._request


class ReportedChunks(CountingLoad):
    """Reports every block of chunks to the stub, which then sends the next; reports of one turn travel together."""

    def __init__(self, job: LoadJob, window: Window, arrivals: asyncio.Transport, manner: wire.Manner) -> None:
        super().__init__(window)
        self._arrivals = arrivals
        self._order = wire.StreamOrder(manner, chunks=job.chunks)
        self._block = wire.CHUNKS_A_REPORT[manner]
        self._unreported = [0] * job.connections
        self._tickets: list[int] = []

    def chunks_came(self, client: Client, stamps: list[bytes]) -> None:
        """Count them, and report the blocks that are complete."""
        self._add(len(stamps))
        blocks, self._unreported[client.number] = divmod(self._unreported[client.number] + len(stamps), self._block)
        if blocks and not self._tickets:
            asyncio.get_running_loop().call_soon(self._report)
        self._tickets += [client.number] * blocks

    def reply_ended(self, client: Client) -> None:
        """Begin the next stream from nothing."""
        self._unreported[client.number] = 0
        super().reply_ended(client)

    def _report(self) -> None:
        self._arrivals.write(struct.pack(f"!{len(self._tickets)}H", *self._tickets))
        self._tickets.clear()

    def _body(self, client: Client) -> bytes:
        return wire.request_body(replace(self._order, ticket=client.number))
