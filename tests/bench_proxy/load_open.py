"""Many slow streams at once: the memory that a proxy holds for them."""

from __future__ import annotations

import asyncio

from bench_proxy import wire
from bench_proxy.load_client import Client, LoadError
from bench_proxy.load_job import Figures, LoadJob
from bench_proxy.processes import resident_mib

_BETWEEN_S = 0.01


class OpenStreams:
    """Opens streams one after the other and keeps the largest memory seen once all have their first token."""

    def __init__(self, job: LoadJob) -> None:
        self._job = job
        self._idle_mib = resident_mib(job.pids)
        self._begun: set[int] = set()

    def begin(self, clients: list[Client]) -> None:
        """Plan the requests."""
        loop = asyncio.get_running_loop()
        for client in clients:
            loop.call_later(_BETWEEN_S * client.number, self.reply_ended, client)

    def reply_ended(self, client: Client) -> None:
        """Open the stream, also again where it is over."""
        order = wire.StreamOrder("paced", self._job.rate, self._job.chunks, client.number)
        client.send(wire.request_body(order))

    def chunks_came(self, client: Client, stamps: list[bytes]) -> None:
        """Its first token is here."""
        del stamps
        self._begun.add(client.number)

    def figures(self, measured: Figures) -> Figures:
        """Memory in MiB before and with all streams open; raises LoadError where not all have begun."""
        if len(self._begun) < self._job.connections:
            raise LoadError(f"in time only {len(self._begun)} of {self._job.connections} streams had a first token")
        return measured | {"idle_mib": self._idle_mib, "open_mib": resident_mib(self._job.pids)}
