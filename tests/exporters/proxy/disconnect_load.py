"""Streamed requests whose clients and engines leave at random, and what must not be left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from exporters.proxy.proxy_rig import CHAT, eventually, request, sample
from specwatch_exporters.proxy.client_connection import ClientConnection
from specwatch_exporters.proxy.engine_connection import EngineConnection
from specwatch_exporters.proxy.exchange import Exchange
from specwatch_exporters.proxy.request_watch import RequestWatch
from specwatch_exporters.proxy.run import RequestSidecar

_BODY = {"messages": [{"role": "user", "content": "count"}], "stream": True}
_KINDS = (Exchange, ClientConnection, EngineConnection, RequestWatch)
_CONCURRENCY = 64


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the clients saw.

    Attributes:
        whole: streams read to their end.
        left: streams that their client left.
    """

    whole: int
    left: int


async def send_all(port: int, count: int, seed: int) -> Traffic:
    """Send streamed requests, 64 at a time; about half of the clients leave somewhere on the way."""
    dice = random.Random(seed)
    plans = [
        (dice.randint(1, 24), dice.choice((None, None, "upload", "wait", "stream", "reset"))) for _ in range(count)
    ]
    slots = asyncio.Semaphore(_CONCURRENCY)
    ends: Counter[bool] = Counter()

    async def one(tokens: int, leaves: str | None) -> None:
        async with slots:
            ends[await _visit(port, tokens, leaves)] += 1

    await asyncio.gather(*(one(tokens, leaves) for tokens, leaves in plans))
    return Traffic(whole=ends[True], left=ends[False])


async def _visit(port: int, tokens: int, leaves: str | None) -> bool:
    """One client; True if it read its stream to the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({**_BODY, "max_tokens": tokens, "ignore_eos": True}).encode()
    sent = request(CHAT, body, headers={"Content-Type": "application/json"})
    writer.write(sent[:-1] if leaves == "upload" else sent)
    try:
        await writer.drain()
        if leaves == "stream":
            await reader.read(200)
        elif leaves == "reset":
            await reader.read(300)
            writer.transport.abort()
            return False
        elif leaves is None:
            return (await reader.read()).endswith(b"0\r\n\r\n")
        return False
    finally:
        writer.close()


def descriptors() -> int:
    """Open descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def alive() -> dict[str, int]:
    """Objects of the data path that still exist."""
    gc.collect()
    found = Counter(type(one).__name__ for one in gc.get_objects() if isinstance(one, _KINDS))
    return dict(found)


def tasks(running: RequestSidecar) -> int:
    """Tasks of the data path's loop."""
    loop = running._loop
    assert loop is not None
    return len(asyncio.all_tasks(loop))


def nothing_is_left(running: RequestSidecar, before: dict[str, int]) -> None:
    """Wait until the data path is as it was before the first request, when these objects were alive."""
    eventually(lambda: running.service.client_count == 0, "a client's connection is left")
    eventually(lambda: running.service.pool.open_count == 0, "a connection to the engine is left")
    eventually(lambda: sample(running, "specwatch_request_in_flight") == 0, "a request is left in flight")
    eventually(lambda: tasks(running) == 1, "a task is left")
    eventually(lambda: alive() == before, f"objects are left: {alive()}, before: {before}")
    assert running._observer.batch.size == 0
    assert sample(running, "specwatch_request_oldest_waiting_seconds") == 0
    assert sample(running, "specwatch_request_unread_total", reason="internal") == 0
