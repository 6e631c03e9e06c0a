"""Load on one engine for one cell: a closed loop or Poisson arrivals, a warm-up before and a drain after.

The load does not pause between warm-up and measured time, so the measured time begins in the middle of steady work
and not with all prompts at once. At its end nothing more is sent, and what was sent may end: cutting it would keep
the short requests and lose the long ones.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from specwatch_bench.enough import requests_for
from specwatch_bench.matrix import Level
from specwatch_bench.prompt import Dataset, Prompt, request_body
from specwatch_bench.request_record import ERROR, OK, STOPPED, RequestRecord, StreamRecord
from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.traffic_classes import CLASS_HEADER

PAUSE_AFTER_ERROR: Final = 0.1
"""Seconds that a failed request keeps its place, so that a closed loop does not hammer."""
_TICK: Final = 0.1
_MOST_OPEN: Final = 2000
"""Arrivals beyond so many in flight are not sent: the engine is lost, and the client would be next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTarget:
    """Where requests go.

    Attributes:
        url: base address.
        model: model name, or None to leave it to the engine.
        chat: chat completions, else completions.
        extra: members added to every body.
        timeout: seconds that one request may take.
    """

    url: str
    model: str | None = None
    chat: bool = False
    extra: Mapping[str, Any]
    timeout: float = 600.0

    @property
    def endpoint(self) -> str:
        """Full address of the API."""
        return self.url.rstrip("/") + ("/v1/chat/completions" if self.chat else "/v1/completions")


class Load:
    """One cell's load; `run` it once.

    Args:
        target: where requests go.
        dataset: where prompts come from.
        level: how much.
        seed: of prompts, lengths and arrivals.
        clock: source of time.
        shown: called now and then with the measured seconds so far (negative in the warm-up) and requests ended.

    Attributes:
        records: of all requests, in order of their ends.
        unsent: arrivals of an open loop that were not sent because too many were in flight.
        zero: monotonic moment at which the measured time starts.
        measured: seconds of measured time, once it is over.
    """

    def __init__(
        self,
        target: LoadTarget,
        dataset: Dataset,
        level: Level,
        seed: int,
        clock: Clock | None = None,
        shown: Callable[[float, int], None] | None = None,
    ) -> None:
        self.records: list[RequestRecord] = []
        self.unsent = 0
        self.zero = 0.0
        self.measured = 0.0
        self._target = target
        self._dataset = dataset
        self._level = level
        self._clock = clock or Clock()
        self._shown = shown
        self._prompts = random.Random(seed)  # noqa: S311 (load, no secrets)
        self._arrivals = random.Random(seed + 1)  # noqa: S311 (likewise)
        self._sending = True
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, at_start: Callable[[], Any], at_end: Callable[[], Any]) -> None:
        """Make the load.

        Args:
            at_start: awaited when the measured time starts, with the load going on.
            at_end: awaited when it ends, with the last requests still in flight.

        Raises:
            Exception: whatever a request raised that is neither of the network nor of the engine.
        """
        async with self._session() as session:
            began = self._clock.monotonic()
            self.zero = began + self._level.warmup
            self._launch(session)
            await self._wait(lambda: self._now() >= 0.0)
            await at_start()
            await self._wait(self._over)
            self._sending = False
            self.measured = self._now()
            await at_end()
            await self._wait(lambda: not self._busy() or self._now() > self.measured + self._level.drain)

    def _now(self) -> float:
        return self._clock.monotonic() - self.zero

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        timeout = aiohttp.ClientTimeout(total=self._target.timeout)
        async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
            try:
                yield session
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    def _launch(self, session: aiohttp.ClientSession) -> None:
        if self._level.rate is not None:
            self._start(self._arrive(session, self._level.rate))
        for _ in range(self._level.concurrency or 0):
            self._start(self._loop(session))

    def _start(self, work: Any) -> None:
        self._tasks.add(asyncio.create_task(work))

    def _busy(self) -> bool:
        return any(not task.done() for task in self._tasks)

    async def _wait(self, over: Callable[[], bool]) -> None:
        while not over():
            await self._clock.sleep(_TICK)
            for task in [task for task in self._tasks if task.done()]:
                self._tasks.discard(task)
                task.result()
            if self._shown is not None:
                self._shown(self._now(), len(self.records))

    def _over(self) -> bool:
        now, level = self._now(), self._level
        if now < level.seconds:
            return False
        return now >= level.most_seconds or self._counted() >= requests_for(level.quantile)

    def _counted(self) -> int:
        return sum(record.outcome == OK and record.sent >= 0 for record in self.records)

    async def _loop(self, session: aiohttp.ClientSession) -> None:
        while self._sending:
            await self._send(session, None)

    async def _arrive(self, session: aiohttp.ClientSession, rate: float) -> None:
        due = self._clock.monotonic()
        while self._sending:
            due += self._arrivals.expovariate(rate)
            await self._clock.sleep(max(due - self._clock.monotonic(), 0.0))
            if len(self._tasks) > _MOST_OPEN:
                self.unsent += 1
            elif self._sending:
                self._start(self._send(session, due))

    async def _send(self, session: aiohttp.ClientSession, due: float | None) -> None:
        prompt = self._dataset.draw(self._prompts)
        number, self._number = self._number, self._number + 1
        body = request_body(prompt, self._target.model, chat=self._target.chat, extra=self._target.extra)
        stream = StreamRecord(self._clock)
        outcome, error = STOPPED, ""
        try:
            outcome, error = await self._exchange(session, body, prompt, stream)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as failure:
            outcome, error = ERROR, f"{type(failure).__name__}: {failure}"[:300]
        finally:
            name, asked = prompt.traffic_class, prompt.output_tokens
            self.records.append(stream.record(number, name, asked, outcome, error, self.zero, due))
        if outcome == ERROR:
            await self._clock.sleep(PAUSE_AFTER_ERROR)

    async def _exchange(
        self, session: aiohttp.ClientSession, body: Mapping[str, Any], prompt: Prompt, stream: StreamRecord
    ) -> tuple[str, str]:
        headers = {CLASS_HEADER: prompt.traffic_class}
        async with session.post(self._target.endpoint, json=body, headers=headers) as response:
            if response.status != 200:
                return ERROR, f"status {response.status}: {(await response.text())[:200]}"
            async for piece in response.content.iter_any():
                stream.feed(piece)
        if stream.error:
            return ERROR, stream.error
        return (OK, "") if stream.complete else (ERROR, "the stream ended early")
