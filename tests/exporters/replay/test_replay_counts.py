from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from exporters.replay.replay_client import FAST, Bench, Samples, value, with_engine
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings

REQUESTS, CLIENTS = 120, 16
Drafts = list[tuple[int, int]]


async def one(bench: Bench, number: int, rng: random.Random) -> tuple[str, dict[str, Any]]:
    """One request of a random kind; returns its class and a body with `usage` and `metrics`."""
    kind = rng.choice(["code", "chat", "math"])
    body: dict[str, Any] = {
        "prompt": " ".join(["w"] * rng.randrange(1, 300)),
        "max_tokens": rng.choice([1, 2, 3, 5, 8, 50, 170]),
        "ignore_eos": rng.random() < 0.5,
    }
    headers = {"x-specwatch-class": kind}
    if number % 2:
        status, answer = await bench.post("/v1/completions", body, headers)
        assert status == 200
        return kind, answer
    asked = {**body, "stream_options": {"include_usage": True}}
    events = await bench.stream("/v1/completions", asked, headers)
    usage = events[-2]
    assert isinstance(usage, dict)
    return kind, usage


async def loaded(bench: Bench) -> tuple[list[tuple[str, dict[str, Any]]], Samples]:
    rng = random.Random(3)
    gate = asyncio.Semaphore(CLIENTS)

    async def limited(number: int) -> tuple[str, dict[str, Any]]:
        async with gate:
            return await one(bench, number, rng)

    answers = await asyncio.gather(*(limited(number) for number in range(REQUESTS)))
    return list(answers), await bench.page()


def drafts_of(body: dict[str, Any]) -> Drafts:
    record = body["metrics"]["speculative_decoding"]
    return list(zip(record.get("per_step_drafted") or (), record.get("per_step_accepted") or (), strict=True))


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="eagle3"),
        pytest.param({"method": "peagle", "slots": 4}, id="peagle-queued"),
        pytest.param({"method": "ngram", "draft_probability": 0.4}, id="ngram-with-misses"),
        pytest.param({"num_speculative_tokens": 7, "live_k": 2}, id="dynamic-k"),
        pytest.param({"max_model_len": 480, "kv_tokens": 960, "slots": 12}, id="preempted"),
    ],
)
def test_the_page_equals_the_sum_over_the_responses(fields: dict[str, Any]) -> None:
    settings = ReplaySettings(speed=FAST, per_request=PerRequest.DETAILED, **{"max_model_len": 1024, **fields})

    async def scenario(bench: Bench) -> None:
        answers, page = await loaded(bench)
        drafts = [draft for _, body in answers for draft in drafts_of(body)]
        usage = [body["usage"] for _, body in answers]
        assert value(page, "vllm:spec_decode_num_drafts_total") == len(drafts)
        assert value(page, "vllm:spec_decode_num_draft_tokens_total") == sum(drafted for drafted, _ in drafts)
        assert value(page, "vllm:spec_decode_num_accepted_tokens_total") == sum(kept for _, kept in drafts)
        for position in range(settings.depth):
            reached = sum(kept > position for _, kept in drafts)
            name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
            assert value(page, name, position=str(position)) == reached
        assert value(page, "vllm:prompt_tokens_total") == sum(item["prompt_tokens"] for item in usage)
        assert value(page, "vllm:generation_tokens_total") == sum(item["completion_tokens"] for item in usage)
        assert bool(value(page, "vllm:num_preemptions_total")) == ("kv_tokens" in fields)
        assert value(page, "vllm:e2e_request_latency_seconds_count") == REQUESTS
        assert value(page, "vllm:num_requests_running") == value(page, "vllm:num_requests_waiting") == 0

    with_engine(scenario, settings)


def test_the_true_counts_per_class_equal_the_responses_of_that_class() -> None:
    settings = ReplaySettings(speed=FAST, per_request=PerRequest.DETAILED, max_model_len=1024)

    async def scenario(bench: Bench) -> None:
        answers, _ = await loaded(bench)
        by_class: dict[str, Counter[str]] = {name: Counter() for name in settings.class_names}
        for kind, body in answers:
            for drafted, kept in drafts_of(body):
                by_class[kind].update(drafts=1, draft_tokens=drafted, accepted_tokens=kept)
        told = bench.engine.state()["classes"]
        assert {name: {key: told[name][key] for key in counts} for name, counts in by_class.items()} == by_class

    with_engine(scenario, settings)
