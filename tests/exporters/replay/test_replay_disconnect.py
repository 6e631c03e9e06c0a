from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from exporters.replay.replay_client import Bench, value, with_engine
from specwatch_exporters.replay.settings import ReplaySettings

LONG: dict[str, Any] = {"prompt": "one two", "max_tokens": 3000, "ignore_eos": True}


async def gone(bench: Bench, body: dict[str, Any]) -> None:
    """Ask, wait until the engine works on it, and hang up."""
    before = bench.engine.core.aborted
    asking = asyncio.create_task(
        bench.stream("/v1/completions", body) if body["stream"] else bench.complete(**body)
    )
    await bench.until(lambda: bench.engine.core.scheduler.load.running == 1 and bench.engine.core.steps > 1)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await bench.until(lambda: bench.engine.core.aborted == before + 1)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("count_aborts", [True, False])
def test_a_client_that_hangs_up_frees_its_slot(*, stream: bool, count_aborts: bool) -> None:
    async def scenario(bench: Bench) -> None:
        await gone(bench, {**LONG, "stream": stream})
        state = bench.engine.state()
        assert (state["running"], state["waiting"], state["open_requests"]) == (0, 0, 0)
        assert state["kv_cache_usage"] == 0.0
        page = await bench.page()
        assert value(page, "vllm:num_requests_running") == 0.0
        assert value(page, "vllm:request_success_total", finished_reason="abort") == float(count_aborts)
        # As a running vLLM 0.32.0 showed: tokens were counted as they came, the request itself never.
        assert (value(page, "vllm:generation_tokens_total") or 0) > 0
        assert value(page, "vllm:e2e_request_latency_seconds_count") == 0.0
        assert value(page, "vllm:request_queue_time_seconds_count") == 0.0

    with_engine(scenario, ReplaySettings(speed=5, count_aborts=count_aborts))


def test_a_waiting_client_that_hangs_up_leaves_the_queue() -> None:
    async def scenario(bench: Bench) -> None:
        scheduler = bench.engine.core.scheduler
        first = asyncio.create_task(bench.complete(**LONG))
        await bench.until(lambda: len(scheduler.running) == 1)
        second = asyncio.create_task(bench.complete(**LONG))
        await bench.until(lambda: len(scheduler.waiting) == 1)
        second.cancel()
        await bench.until(lambda: not scheduler.waiting)
        assert value(await bench.page(), "vllm:num_requests_waiting") == 0.0
        first.cancel()
        await bench.until(lambda: not scheduler.running)

    with_engine(scenario, ReplaySettings(speed=5, slots=1))


def test_many_random_disconnects_leave_no_request_task_or_connection_behind() -> None:
    async def impatient(bench: Bench, number: int) -> None:
        """Hang up after some chunks of a stream (None: read it all), or while waiting for a whole response."""
        body = {**LONG, "max_tokens": 200, "stream": number % 3 > 0}
        chunks = random.Random(number).choice([0, 1, 3, 10, None])
        url = bench.engine.url + "/v1/completions"
        if not body["stream"]:
            asking = asyncio.create_task(bench.complete(**body))
            await asyncio.sleep(0.001 * (chunks or 0))
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            return
        async with bench.session.post(url, json=body) as response:
            read = 0
            async for _ in response.content.iter_any():
                read += 1
                if chunks is not None and read > chunks:
                    response.close()
                    return

    async def scenario(bench: Bench) -> None:
        await bench.page()
        tasks = len(asyncio.all_tasks())
        await asyncio.gather(*(impatient(bench, number) for number in range(300)))
        core = bench.engine.core
        await bench.until(lambda: core.open_requests == 0)
        assert core.aborted > 20
        state = bench.engine.state()
        assert (state["running"], state["waiting"], state["kv_cache_usage"]) == (0, 0, 0.0)
        assert core.scheduler.kv_cache.held == 0
        await bench.session.close()
        await bench.until(lambda: len(asyncio.all_tasks()) <= tasks)

    with_engine(scenario, ReplaySettings(speed=200, slots=8))
