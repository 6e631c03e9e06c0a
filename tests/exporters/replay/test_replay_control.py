from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from exporters.replay.replay_client import FAST, Bench, value, with_engine
from specwatch_exporters.replay.settings import ReplaySettings

FORCED: dict[str, Any] = {"prompt": "a", "max_tokens": 31, "ignore_eos": True}


@pytest.mark.parametrize(
    ("route", "body", "complaint"),
    [
        ("config", {}, "nothing to change; known keys: acceptance, slots, k"),
        ("config", {"slot": 3}, "unknown key 'slot'; known keys: acceptance, slots"),
        ("config", {"slots": 0}, "slots must be at least 1"),
        ("config", {"slots": 2.5}, "slots must be a whole number"),
        ("config", {"slots": True}, "slots must be a whole number"),
        ("config", {"k": 9}, "k must be 0 to num_speculative_tokens (3), got 9"),
        ("config", {"k": -1}, "k must be a whole number from 0"),
        ("config", {"speed": 0}, "speed must be between 0.001"),
        ("config", {"speed": "fast"}, "speed must be a number"),
        ("config", {"method": "medusa"}, "method 'medusa' is unknown; known: off, eagle3, peagle, ngram"),
        ("config", {"method": ""}, "method must be a non-empty string"),
        ("config", {"profile": 5}, "profile must be a non-empty string"),
        ("config", {"profile": "qwen3-coder-30b", "method": "ngram"}, "known: off, eagle3"),
        ("config", {"per_request": "all"}, "per_request must be one of none, summary, detailed"),
        ("config", {"timings": 1}, "timings must be true or false"),
        ("config", {"draft_probability": 2}, "draft_probability must be between 0 and 1"),
        ("config", {"acceptance": 0.5}, "acceptance must be a list of rates, or an object"),
        ("config", {"acceptance": {}}, "acceptance must be a list of rates, or an object"),
        ("config", {"acceptance": []}, "at least one position"),
        ("config", {"acceptance": [0.5, 0.6]}, "cannot increase"),
        ("config", {"acceptance": {"code": [1.5]}}, "acceptance.code: a rate must be a number from 0 to 1"),
        ("config", {"acceptance": {"code": "high"}}, "acceptance.code must be a list of rates"),
        ("config", {"acceptance": {"poetry": [0.5]}}, "acceptance class 'poetry' is unknown"),
        ("restart", {"down_s": -1}, "down_s must be a number from 0"),
        ("restart", {"seconds": 1}, "unknown key 'seconds'; known keys: down_s"),
        ("fail", {}, "mode must be one of hang, hang_body, slow, 500"),
        ("fail", {"mode": "explode"}, "got 'explode'"),
        ("fail", {"mode": ["hang"]}, "mode must be one of"),
        ("fail", {"mode": "hang", "target": "moon"}, "target must be one of metrics, completions, health, all"),
        ("fail", {"mode": "hang", "seconds": "long"}, "seconds must be a number"),
        ("fail", {"mode": "refuse"}, "'refuse' needs seconds above 0"),
        ("fail", {"mode": "refuse", "target": "metrics", "seconds": 1}, "concerns the whole engine"),
        ("fail", {"mode": "slow"}, "'slow' needs delay_s above 0"),
    ],
)
def test_a_wrong_order_is_refused_and_changes_nothing(route: str, body: dict[str, Any], complaint: str) -> None:
    async def scenario(bench: Bench) -> None:
        before = bench.engine.state()
        status, answer = await bench.post(f"/replay/{route}", body)
        assert status == 400
        assert complaint in answer["error"]["message"]
        assert bench.engine.state() == before

    with_engine(scenario)


def test_a_body_that_is_no_json_object_is_refused() -> None:
    async def scenario(bench: Bench) -> None:
        for raw in (b"{", b"[]"):
            async with bench.session.post(bench.engine.url + "/replay/config", data=raw) as response:
                assert response.status == 400
                assert "JSON" in (await response.json())["error"]["message"]

    with_engine(scenario)


def test_acceptance_changes_at_once_and_by_class() -> None:
    async def scenario(bench: Bench) -> None:
        answer = await bench.control("config", {"acceptance": {"code": [1, 1, 1], "chat": [0]}})
        assert answer["restarted"] is False
        assert answer["state"]["settings"]["acceptance"]["code"] == [1, 1, 1]
        for kind in ("code", "chat"):
            await bench.post("/v1/completions", FORCED, {"x-specwatch-class": kind})
        classes = bench.engine.state()["classes"]
        assert classes["code"]["accepted_tokens"] == classes["code"]["draft_tokens"] == 24
        assert (classes["chat"]["accepted_tokens"], classes["chat"]["drafts"]) == (0, 30)

    with_engine(scenario)


def test_a_live_k_is_no_restart_and_zero_drafts_nothing() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("config", {"k": 1})
        await bench.complete(**FORCED)
        page = await bench.page()
        drafts = value(page, "vllm:spec_decode_num_drafts_total")
        assert drafts == value(page, "vllm:spec_decode_num_draft_tokens_total")
        assert (await bench.control("config", {"k": 0}))["restarted"] is False
        await bench.complete(**FORCED)
        assert value(await bench.page(), "vllm:spec_decode_num_drafts_total") == drafts

    with_engine(scenario)


@pytest.mark.parametrize(
    ("change", "series"),
    [
        ({"method": "off"}, None),
        ({"method": "ngram"}, 0.0),
        ({"profile": "qwen3-coder-30b"}, 0.0),
        ({"num_speculative_tokens": 5}, 0.0),
        ({"model": "other"}, 0.0),
    ],
)
def test_what_a_real_engine_fixes_at_the_start_takes_a_restart(
    change: dict[str, Any], series: float | None
) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.complete(**FORCED)
        before = bench.engine.core.started
        answer = await bench.control("config", change)
        assert answer["restarted"] is True
        assert answer["state"]["restarts"] == 1
        page = await bench.page()
        assert value(page, "vllm:spec_decode_num_drafts_total") == series
        assert value(page, "vllm:generation_tokens_total") == 0.0
        assert (value(page, "process_start_time_seconds") or 0.0) > before
        await bench.complete(**FORCED)

    with_engine(scenario)


def test_another_drafter_has_its_own_positions_and_acceptance() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("config", {"acceptance": [0.9, 0.9, 0.9], "k": 1})
        state = (await bench.control("config", {"method": "peagle", "acceptance": {"math": [0.5]}}))["state"]
        assert (state["settings"]["num_speculative_tokens"], state["settings"]["k"]) == (5, 5)
        assert state["settings"]["acceptance"]["code"] == [0.6145, 0.3939, 0.2727, 0.2043, 0.1571]
        assert state["settings"]["acceptance"]["math"][:2] == [0.5, 0.25]
        page = await bench.page()
        assert value(page, "vllm:spec_decode_num_accepted_tokens_per_pos_total", position="4") == 0.0

    with_engine(scenario)


def test_a_restart_cuts_requests_in_flight_and_starts_all_counts_again() -> None:
    async def scenario(bench: Bench) -> None:
        started = bench.engine.core.started
        asking = [
            asyncio.create_task(bench.complete(prompt="a", max_tokens=3000, ignore_eos=True)) for _ in range(3)
        ]
        streaming = asyncio.create_task(
            bench.stream("/v1/completions", {"prompt": "a", "max_tokens": 3000, "ignore_eos": True})
        )
        await bench.until(lambda: bench.engine.core.scheduler.load.running == 4 and bench.engine.core.steps > 3)
        assert (await bench.control("restart"))["state"]["restarts"] == 1
        results = await asyncio.gather(*asking, streaming, return_exceptions=True)
        assert all(isinstance(result, aiohttp.ClientError) for result in results), results
        page = await bench.page()
        assert value(page, "vllm:generation_tokens_total") == 0.0
        assert value(page, "vllm:num_requests_running") == 0.0
        assert value(page, "http_requests_total", handler="/v1/completions") is None
        assert (value(page, "process_start_time_seconds") or 0.0) > started
        created = value(page, "vllm:generation_tokens_created")
        assert created is not None
        assert created >= bench.engine.core.started
        assert bench.engine.state()["open_requests"] == 0
        await bench.complete(**FORCED)

    with_engine(scenario, ReplaySettings(speed=5))


def test_while_down_nobody_listens_and_afterwards_the_address_is_the_same() -> None:
    async def scenario(bench: Bench) -> None:
        url = bench.engine.url
        await bench.control("restart", {"down_s": 0.3})
        with pytest.raises(aiohttp.ClientConnectorError):
            async with aiohttp.ClientSession() as fresh, fresh.get(url + "/health"):
                pass
        while True:
            try:
                assert await bench.text("/health") == ""
                break
            except aiohttp.ClientError:
                await asyncio.sleep(0.02)
        assert bench.engine.url == url
        await bench.complete(**FORCED)

    with_engine(scenario)


def test_draws_differ_from_one_life_to_the_next_but_not_from_run_to_run() -> None:
    async def scenario(bench: Bench) -> list[list[int]]:
        seen = []
        for _ in range(2):
            body = await bench.complete(prompt="a", max_tokens=200, ignore_eos=True)
            seen.append(body["metrics"]["speculative_decoding"]["per_step_accepted"])
            await bench.control("restart")
        return seen

    async def detailed(bench: Bench) -> list[list[int]]:
        await bench.control("config", {"per_request": "detailed"})
        return await scenario(bench)

    first, second = with_engine(detailed)
    assert first != second
    assert with_engine(detailed) == [first, second]


def test_more_slots_let_waiting_requests_in() -> None:
    async def scenario(bench: Bench) -> None:
        asking = [
            asyncio.create_task(bench.complete(prompt="a", max_tokens=2000, ignore_eos=True)) for _ in range(4)
        ]
        scheduler = bench.engine.core.scheduler
        await bench.until(lambda: (len(scheduler.running), len(scheduler.waiting)) == (1, 3))
        await bench.control("config", {"slots": 4})
        await bench.until(lambda: (len(scheduler.running), len(scheduler.waiting)) == (4, 0))
        await bench.control("config", {"speed": FAST})
        await asyncio.gather(*asking)

    with_engine(scenario, ReplaySettings(speed=5, slots=1))
