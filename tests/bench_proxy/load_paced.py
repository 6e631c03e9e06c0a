"""Streams at a set rate: how long requests wait for their first token, and how late every chunk is."""

from __future__ import annotations

import asyncio
import time

from bench_proxy import wire
from bench_proxy.load_client import Client
from bench_proxy.load_job import Figures, LoadJob, Window
from bench_proxy.percentile import percentile


class PacedLoad:
    """Every connection sends a request when the one before is over; they begin evenly spread."""

    def __init__(self, job: LoadJob, window: Window) -> None:
        self._job = job
        self._window = window
        self._sent_ns: dict[int, int] = {}
        self._delay_before: dict[int, float] = {}
        self._first_ms: list[float] = []
        self._delay_ms: list[float] = []
        self._stretch_ms: list[float] = []

    def begin(self, clients: list[Client]) -> None:
        """Plan the first requests."""
        loop = asyncio.get_running_loop()
        length_s = self._job.chunks / self._job.rate
        for client in clients:
            loop.call_later(length_s * client.number / len(clients), self.reply_ended, client)

    def reply_ended(self, client: Client) -> None:
        """Send the next request."""
        self._delay_before.pop(client.number, None)
        order = wire.StreamOrder("paced", self._job.rate, self._job.chunks, client.number)
        body = wire.request_body(order)
        self._sent_ns[client.number] = time.monotonic_ns()
        client.send(body)

    def chunks_came(self, client: Client, stamps: list[bytes]) -> None:
        """Note how long they were under way."""
        now = time.monotonic_ns()
        sent = self._sent_ns.pop(client.number, None)
        if not self._window.is_open:
            return
        if sent is not None:
            self._first_ms.append((now - sent) / 1e6)
        for stamp in stamps:
            delay = (now - int(stamp)) / 1e6
            self._delay_ms.append(delay)
            before = self._delay_before.get(client.number)
            if before is not None:
                self._stretch_ms.append(delay - before)
            self._delay_before[client.number] = delay

    def figures(self, measured: Figures) -> Figures:
        """TTFT, delay of a chunk, and how much longer a gap got on the way, in milliseconds."""
        return measured | {
            "first_p50_ms": percentile(self._first_ms, 50),
            "first_p99_ms": percentile(self._first_ms, 99),
            "delay_p50_ms": percentile(self._delay_ms, 50),
            "delay_p99_ms": percentile(self._delay_ms, 99),
            "stretch_p99_ms": percentile(self._stretch_ms, 99),
            "requests": len(self._first_ms),
            "chunks": len(self._delay_ms),
        }
