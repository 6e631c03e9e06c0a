from __future__ import annotations

import asyncio

from exporters.replay.replay_client import Bench, value, with_engine
from specwatch_exporters.replay.settings import ReplaySettings

REQUESTS, SLOTS = 12, 3


def test_more_requests_than_slots_wait_and_their_wait_is_observed() -> None:
    async def scenario(bench: Bench) -> None:
        asks = [
            asyncio.create_task(bench.complete(prompt=f"request {number}", max_tokens=60, ignore_eos=True))
            for number in range(REQUESTS)
        ]
        scheduler = bench.engine.core.scheduler
        await bench.until(lambda: len(scheduler.waiting) == REQUESTS - SLOTS and bench.engine.core.steps > 2)
        page = await bench.page()
        assert value(page, "vllm:num_requests_running") == SLOTS
        waiting = value(page, "vllm:num_requests_waiting")
        assert waiting is not None
        assert waiting > 0
        assert value(page, "vllm:num_requests_waiting_by_reason", reason="capacity") == waiting
        assert value(page, "vllm:num_requests_waiting_by_reason", reason="deferred") == 0
        await asyncio.gather(*asks)
        page = await bench.page()
        name = "vllm:request_queue_time_seconds"
        assert value(page, f"{name}_count") == REQUESTS
        assert (value(page, f"{name}_sum") or 0) > 0
        assert (value(page, "vllm:e2e_request_latency_seconds_sum") or 0) > (value(page, f"{name}_sum") or 0)

    with_engine(scenario, ReplaySettings(speed=20, slots=SLOTS))


def test_slots_and_kv_blocks_are_full_under_load_and_free_afterwards() -> None:
    async def scenario(bench: Bench) -> None:
        prompt = " ".join(["w"] * 900)
        asks = [
            asyncio.create_task(bench.complete(prompt=prompt, max_tokens=100, ignore_eos=True)) for _ in range(4)
        ]
        await bench.until(lambda: bench.engine.core.steps > 5)
        usage = value(await bench.page(), "vllm:kv_cache_usage_perc")
        assert usage is not None
        assert 0.85 < usage <= 1.0
        await asyncio.gather(*asks)
        assert value(await bench.page(), "vllm:kv_cache_usage_perc") == 0.0

    with_engine(scenario, ReplaySettings(speed=20, kv_tokens=4096, slots=4))
