"""What the load generator is told to do, and the time in which it measures."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Literal

from bench_proxy.processes import processor_seconds

Phase = Literal["paced", "alone", "flood", "small", "memory"]
Figures = dict[str, float]


@dataclass(frozen=True)
class LoadJob:
    """One phase against one contender.

    Attributes:
        phase: what is measured.
        port: where requests go.
        stub_port: the stub's own port, to ask how many streams are open.
        arrivals_port: where arrivals of chunks are reported.
        pids: the contender's processes; none for `direct`.
        connections: streams, or connections for small replies.
        rate: chunks per second of a stream, where the stub paces them.
        chunks: chunks of a stream, where it ends by itself.
        warm_s: load that is not measured, first.
        seconds: load that is measured.
    """

    phase: Phase
    port: int
    stub_port: int
    arrivals_port: int
    pids: tuple[int, ...]
    connections: int
    rate: int
    chunks: int
    warm_s: float
    seconds: float


class Window:
    """The measured part of a phase.

    Attributes:
        is_open: whether it is now.
    """

    def __init__(self, job: LoadJob, failed: asyncio.Future[None]) -> None:
        self.is_open = False
        self._job = job
        self._failed = failed

    async def pass_by(self) -> Figures:
        """Wait for the warm-up and the measured time; tell seconds and the contender's processor seconds.

        Raises:
            LoadError: a connection failed meanwhile.
        """
        await self._wait(self._job.warm_s)
        used, began = processor_seconds(self._job.pids), time.monotonic()
        self.is_open = True
        await self._wait(self._job.seconds)
        self.is_open = False
        return {
            "seconds": time.monotonic() - began,
            "processor_s": processor_seconds(self._job.pids) - used,
        }

    async def _wait(self, seconds: float) -> None:
        done, _ = await asyncio.wait((self._failed,), timeout=seconds)
        for failed in done:
            failed.result()
