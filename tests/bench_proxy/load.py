"""The load generator, a process of its own: one phase against one contender.

    python -m bench_proxy.load '{"phase": "paced", ...}'

Prints the figures as one line of JSON; a failure is a line `{"failed": "why"}`.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeVar

from bench_proxy.fast_loop import run_loop
from bench_proxy.load_capacity import ReportedChunks, SmallReplies
from bench_proxy.load_client import Client, Listener, LoadError
from bench_proxy.load_job import Figures, LoadJob, Window
from bench_proxy.load_open import OpenStreams
from bench_proxy.load_paced import PacedLoad
from bench_proxy.processes import processor_seconds

_SETTLE_S: Final = 20.0
_SETTLE_STEP_S: Final = 0.2
_RESTING: Final = 0.1  # of a core


Connected = TypeVar("Connected", bound=asyncio.Protocol)


class Load(Listener, Protocol):
    """One way to load a proxy."""

    def begin(self, clients: list[Client]) -> None:
        """Start."""

    def figures(self, measured: Figures) -> Figures:
        """What was found."""


def make_load(job: LoadJob, window: Window, arrivals: asyncio.Transport) -> Load:
    """The load of the job's phase."""
    if job.phase == "paced":
        return PacedLoad(job, window)
    if job.phase == "memory":
        return OpenStreams(job)
    if job.phase == "small":
        return SmallReplies(window)
    return ReportedChunks(job, window, arrivals, job.phase)


async def connect(protocol: Callable[[], Connected], port: int) -> tuple[asyncio.Transport, Connected]:
    """Connect to a port of the loopback address."""
    transport, made = await asyncio.get_running_loop().create_connection(protocol, "127.0.0.1", port)
    return transport, made


async def measure(job: LoadJob) -> Figures:
    """Run one phase; raises LoadError or OSError where the contender does not answer."""
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    window = Window(job, failed)
    arrivals, _ = await connect(asyncio.Protocol, job.arrivals_port)
    load = make_load(job, window, arrivals)
    clients = [
        (await connect(partial(Client, number, job.port, load, failed), job.port))[1]
        for number in range(job.connections)
    ]
    load.begin(clients)
    try:
        return load.figures(await window.pass_by())
    finally:
        arrivals.close()
        for client in clients:
            client.close()


def open_streams(job: LoadJob) -> int:
    """How many streams the stub has open."""
    with urllib.request.urlopen(f"http://127.0.0.1:{job.stub_port}/", timeout=5) as answer:
        return int(json.load(answer)["open_streams"])


async def settle(job: LoadJob) -> Figures:
    """Wait until no stream is open and the contender rests; end those that it began after its clients had left."""
    waited, left, used = 0.0, open_streams(job), math.inf
    while (left or used > _RESTING) and waited < _SETTLE_S:
        (await connect(asyncio.Protocol, job.arrivals_port))[0].close()
        before = processor_seconds(job.pids)
        await asyncio.sleep(_SETTLE_STEP_S)
        used = (processor_seconds(job.pids) - before) / _SETTLE_STEP_S
        waited, left = waited + _SETTLE_STEP_S, open_streams(job)
    return {"settle_s": waited, "left_open": left}


async def main() -> None:
    """Do the job that the argument describes."""
    job = LoadJob(**json.loads(sys.argv[1]))
    try:
        found: object = await measure(job) | await settle(job)
    except (LoadError, OSError) as error:
        found = {"failed": str(error)}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    run_loop(main())
