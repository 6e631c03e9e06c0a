"""Load for an OpenAI-compatible engine, bounded, changeable while it runs, and stoppable at once."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Mapping
from typing import Any

import aiohttp

from specwatch_exporters.demo.traffic_plan import TrafficPlan, checked_mix
from specwatch_exporters.demo.traffic_record import ERROR, OK, STOPPED, StreamReading, TrafficReport
from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.traffic_classes import CLASS_HEADER

PAUSE_AFTER_ERROR = 0.1
"""Seconds that a failed request still counts as in flight, so that a closed loop does not hammer."""


class Traffic:
    """One run of a plan.

    Args:
        plan: see `TrafficPlan`.
        clock: source of time.
    """

    def __init__(self, plan: TrafficPlan, clock: Clock | None = None) -> None:
        self.plan = plan
        self.report = TrafficReport(deque(maxlen=plan.keep))
        self._clock = clock or Clock()
        self._rng = random.Random(plan.seed)  # noqa: S311 (load, no secrets)
        self._mix = dict(plan.mix)
        self._rate = plan.rate
        self._concurrency = plan.concurrency
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._failure: BaseException | None = None

    @property
    def in_flight(self) -> int:
        """Requests without an end yet."""
        return len(self._tasks)

    def change(
        self,
        *,
        rate: float | None = None,
        concurrency: int | None = None,
        mix: Mapping[str, float] | None = None,
    ) -> None:
        """Change the running load; what is in flight stays. A rate or concurrency of 0 pauses.

        Raises:
            ValueError: when the plan is of the other kind, or the mix is empty.
        """
        if (rate is not None and self._rate is None) or (concurrency is not None and self._concurrency is None):
            raise ValueError("a closed loop has a concurrency, an open loop a rate; it cannot change its kind")
        if mix is not None:
            self._mix = checked_mix(mix)
        self._rate = self._rate if rate is None else rate
        self._concurrency = self._concurrency if concurrency is None else concurrency
        self._changed.set()

    def stop(self) -> None:
        """End the run now; requests in flight are cut and recorded as stopped."""
        self._stopped.set()

    async def run(self) -> TrafficReport:
        """Make the load and return what happened; call it once."""
        timeout = aiohttp.ClientTimeout(total=self.plan.timeout)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
            enders = {
                asyncio.create_task(self._dispatch(session), name="traffic-dispatch"),
                asyncio.create_task(self._stopped.wait(), name="traffic-stop"),
                asyncio.create_task(self._end_of_time(), name="traffic-clock"),
            }
            try:
                done, _ = await asyncio.wait(enders, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                await _cancelled(enders | self._tasks)
        if self._failure is not None:
            raise self._failure
        return self.report

    async def _end_of_time(self) -> None:
        if self.plan.seconds is None:
            await asyncio.Event().wait()
        else:
            await self._clock.sleep(self.plan.seconds)

    async def _dispatch(self, session: aiohttp.ClientSession) -> None:
        due = self._clock.monotonic()
        made = 0
        while self.plan.count is None or made < self.plan.count:
            due = await self._turn(due)
            made += 1
            if self._rate is not None and self.in_flight >= self.plan.max_in_flight:
                self.report.dropped += 1
                continue
            task = asyncio.create_task(self._send(session, self._body(), self._draw_class()))
            self._tasks.add(task)
            task.add_done_callback(self._forget)
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _turn(self, due: float) -> float:
        """Wait until the next request may go; returns when it was due."""
        while self._concurrency is not None:
            if self.in_flight < self._concurrency:
                return due
            await self._change(None)
        while True:
            waited = None
            if self._rate:
                due += self._rng.expovariate(self._rate)
                waited = max(due - self._clock.monotonic(), 0.0)
            if not await self._change(waited):
                return due
            due = self._clock.monotonic()

    async def _change(self, seconds: float | None) -> bool:
        """Wait for a change of load or the end of a request; False when `seconds` passed without one."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            if not self._changed.is_set():
                return False
        self._changed.clear()
        return True

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()
            self._stopped.set()
        if self._concurrency is not None:
            self._changed.set()

    def _draw_class(self) -> str:
        return self._rng.choices(list(self._mix), list(self._mix.values()))[0]

    def _body(self) -> dict[str, Any]:
        prompt = " ".join(["word"] * self.plan.prompt.draw(self._rng))
        body: dict[str, Any] = {
            "max_tokens": self.plan.output.draw(self._rng),
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.plan.model is not None:
            body["model"] = self.plan.model
        if self.plan.chat:
            return {**body, "messages": [{"role": "user", "content": prompt}]}
        return {**body, "prompt": prompt}

    async def _send(self, session: aiohttp.ClientSession, body: dict[str, Any], name: str) -> None:
        reading = StreamReading(self._clock)
        outcome, error = STOPPED, ""
        self.report.sent += 1
        try:
            outcome, error = await self._exchange(session, body, name, reading)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as failure:
            outcome, error = ERROR, f"{type(failure).__name__}: {failure}"
        finally:
            self.report.outcomes[outcome] += 1
            self.report.records.append(reading.record(name, outcome, error))
        if outcome == ERROR:
            await self._clock.sleep(PAUSE_AFTER_ERROR)

    async def _exchange(
        self, session: aiohttp.ClientSession, body: dict[str, Any], name: str, reading: StreamReading
    ) -> tuple[str, str]:
        path = "/v1/chat/completions" if self.plan.chat else "/v1/completions"
        headers = {CLASS_HEADER: name}
        async with session.post(self.plan.url.rstrip("/") + path, json=body, headers=headers) as response:
            if response.status != 200:
                return ERROR, f"status {response.status}"
            async for piece in response.content.iter_any():
                reading.feed(piece)
        return (OK, "") if reading.complete else (ERROR, "the stream ended early")


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
