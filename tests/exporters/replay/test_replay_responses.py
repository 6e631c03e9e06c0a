from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import aiohttp
import pytest

from exporters.replay.replay_client import FAST, Bench, with_engine
from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
ASK: dict[str, dict[str, Any]] = {
    COMPLETIONS: {"prompt": "one two three", "max_tokens": 40, "ignore_eos": True},
    CHAT: {"messages": [{"role": "user", "content": "one two three"}], "max_tokens": 40, "ignore_eos": True},
}
USAGE = {"stream_options": {"include_usage": True}}
RECORD_FIELDS = {
    *("mean_acceptance_length", "draft_acceptance_rate", "acceptance_histogram", "num_spec_steps"),
    *("num_accepted_draft_tokens", "num_draft_tokens", "num_spec_tokens"),
}
STEP_FIELDS = {"per_step_accepted", "per_step_drafted"}
TIMING_FIELDS = {
    *("time_to_first_token_ms", "generation_time_ms", "queue_time_ms", "mean_itl_ms", "tokens_per_second"),
}


def fast(**fields: Any) -> ReplaySettings:
    return ReplaySettings(speed=FAST, **fields)


def asked(path: str, settings: ReplaySettings) -> dict[str, Any]:
    async def scenario(bench: Bench) -> dict[str, Any]:
        status, body = await bench.post(path, ASK[path])
        assert status == 200
        return body

    return with_engine(scenario, settings)


def streamed(path: str, settings: ReplaySettings, **extra: Any) -> list[Any]:
    async def scenario(bench: Bench) -> list[Any]:
        return await bench.stream(path, {**ASK[path], **extra})

    return with_engine(scenario, settings)


def text_of(path: str, choice: dict[str, Any]) -> str:
    return str(choice["text"] if path == COMPLETIONS else choice["delta"]["content"])


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
def test_a_whole_response_has_one_word_per_token(path: str) -> None:
    body = asked(path, fast())
    choice = body["choices"][0]
    text = choice["text"] if path == COMPLETIONS else choice["message"]["content"]
    prompt = 3 if path == COMPLETIONS else 7
    assert len(text.split()) == 40
    assert choice["finish_reason"] == "length"
    assert {key: body["usage"][key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")} == {
        "prompt_tokens": prompt,
        "completion_tokens": 40,
        "total_tokens": prompt + 40,
    }
    assert body["metrics"] is None


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
def test_a_stream_has_one_chunk_per_step_and_ends_with_done(path: str) -> None:
    # A usual speed: a client that lags would get several steps in one chunk.
    *chunks, last, done = streamed(path, ReplaySettings(speed=20, per_request=PerRequest.DETAILED), **USAGE)
    assert done == "[DONE]"
    if path == CHAT:
        role = chunks.pop(0)
        assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    record = last["metrics"]["speculative_decoding"]
    words = [len(text_of(path, chunk["choices"][0]).split()) for chunk in chunks]
    kept = [1, *(1 + accepted for accepted in record["per_step_accepted"])]
    kept[-1] -= sum(kept) - 40
    assert words == kept
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["length"]
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 40


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
def test_without_include_usage_a_stream_has_no_usage_and_no_metrics(path: str) -> None:
    *chunks, done = streamed(path, fast(per_request=PerRequest.DETAILED, timings=True))
    assert done == "[DONE]"
    assert all("usage" not in chunk and "metrics" not in chunk for chunk in chunks)


def test_continuous_usage_counts_up() -> None:
    *chunks, _, _ = streamed(
        COMPLETIONS, fast(), stream_options={"include_usage": True, "continuous_usage_stats": True}
    )
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts == sorted(counts)
    assert counts[-1] == 40


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
@pytest.mark.parametrize("timings", [False, True])
@pytest.mark.parametrize("mode", list(PerRequest))
def test_metrics_keep_nulls_in_a_whole_response_and_drop_them_in_a_stream(
    path: str, mode: PerRequest, *, timings: bool
) -> None:
    settings = fast(per_request=mode, timings=timings)
    whole = asked(path, settings)["metrics"]
    last = streamed(path, settings, **USAGE)[-2].get("metrics")
    if mode is PerRequest.NONE and not timings:
        assert (whole, last) == (None, None)
        return
    assert set(whole) == TIMING_FIELDS | {"speculative_decoding"}
    assert set(last) == (TIMING_FIELDS if timings else set()) | (
        set() if mode is PerRequest.NONE else {"speculative_decoding"}
    )
    assert all((whole[name] is not None) == timings for name in TIMING_FIELDS)
    if mode is PerRequest.NONE:
        assert whole["speculative_decoding"] is None
        return
    lists = STEP_FIELDS if mode is PerRequest.DETAILED else set()
    record = whole["speculative_decoding"]
    assert set(record) == RECORD_FIELDS | STEP_FIELDS
    assert {name for name in STEP_FIELDS if record[name] is not None} == lists
    assert set(last["speculative_decoding"]) == RECORD_FIELDS | lists


def test_the_record_follows_from_its_steps() -> None:
    body = asked(COMPLETIONS, fast(per_request=PerRequest.DETAILED))
    record = body["metrics"]["speculative_decoding"]
    accepted, drafted = record["per_step_accepted"], record["per_step_drafted"]
    assert record["num_spec_steps"] == len(accepted) == len(drafted)
    assert record["num_accepted_draft_tokens"] == sum(accepted)
    assert record["num_draft_tokens"] == sum(drafted)
    assert record["draft_acceptance_rate"] == pytest.approx(sum(accepted) / sum(drafted))
    assert record["mean_acceptance_length"] == pytest.approx(1 + sum(accepted) / len(accepted))
    assert record["acceptance_histogram"] == [accepted.count(kept) for kept in range(4)]
    assert record["num_spec_tokens"] == 3


def test_a_request_without_drafts_has_an_empty_record() -> None:
    record = asked(COMPLETIONS, fast(per_request=PerRequest.DETAILED, live_k=0))["metrics"]["speculative_decoding"]
    assert record["acceptance_histogram"] == [0, 0, 0, 0]
    assert (record["mean_acceptance_length"], record["draft_acceptance_rate"]) == (1.0, 0.0)
    assert (record["per_step_accepted"], record["per_step_drafted"]) == (None, None)


def test_with_speculation_off_there_is_no_record() -> None:
    assert asked(COMPLETIONS, fast(method="off", per_request=PerRequest.DETAILED))["metrics"] is None


def test_a_request_that_stops_by_itself_counts_an_end_token_without_text() -> None:
    async def scenario(bench: Bench) -> None:
        for number in range(20):
            body = await bench.complete(prompt=f"number {number}", max_tokens=4000)
            choice = body["choices"][0]
            assert choice["finish_reason"] == "stop"
            assert len(choice["text"].split()) == body["usage"]["completion_tokens"] - 1

    with_engine(scenario)


def test_a_request_id_from_outside_is_kept() -> None:
    async def scenario(bench: Bench) -> None:
        for path, prefix in ((COMPLETIONS, "cmpl"), (CHAT, "chatcmpl")):
            _, body = await bench.post(path, ASK[path], {"X-Request-Id": "abc"})
            assert body["id"] == f"{prefix}-abc"
        _, other = await bench.post(COMPLETIONS, ASK[COMPLETIONS])
        assert other["id"].startswith("cmpl-")

    with_engine(scenario)


def test_errors_have_the_engine_shapes() -> None:
    async def scenario(bench: Bench) -> None:
        status, body = await bench.post(COMPLETIONS, {"model": "x", "prompt": "a"})
        assert (status, body["error"]["type"]) == (404, "NotFoundError")
        status, body = await bench.post("/v1/nothing", {})
        assert (status, body) == (404, {"detail": "Not Found"})
        async with bench.session.get(bench.engine.url + COMPLETIONS) as response:
            assert (response.status, await response.json()) == (405, {"detail": "Method Not Allowed"})
        async with bench.session.post(bench.engine.url + COMPLETIONS, data=b"{") as response:
            assert response.status == 400
            assert response.headers["Content-Type"] == "application/json"

    with_engine(scenario)


def test_information_routes() -> None:
    async def scenario(bench: Bench) -> None:
        assert await bench.text("/health") == ""
        assert await bench.text("/ping") == ""
        assert await bench.text("/version") == '{"version":"0.32.0"}'
        async with bench.session.get(bench.engine.url + "/v1/models") as response:
            card = (await response.json())["data"][0]
        assert (card["id"], card["max_model_len"]) == ("llama-3.3-70b", 4096)

    with_engine(scenario)


@pytest.mark.parametrize("accept", ["*/*", "application/openmetrics-text;version=1.0.0", "text/html"])
def test_the_page_is_plain_text_whatever_is_asked_for(accept: str) -> None:
    async def scenario(bench: Bench) -> None:
        async with bench.session.get(bench.engine.url + "/metrics", headers={"Accept": accept}) as response:
            assert response.headers["Content-Type"] == "text/plain; version=1.0.0; charset=utf-8"
            assert (await response.text()).endswith("\n")

    with_engine(scenario)


def test_a_large_prompt_is_taken() -> None:
    async def scenario(bench: Bench) -> None:
        prompt = "x" * (10 * 1024 * 1024)
        raw = io.BytesIO(json.dumps({"prompt": prompt, "max_tokens": 3, "ignore_eos": True}).encode())
        headers = {"Content-Type": "application/json"}
        async with bench.session.post(bench.engine.url + COMPLETIONS, data=raw, headers=headers) as response:
            assert (await response.json())["usage"]["prompt_tokens"] == 1

    with_engine(scenario)


def test_a_slow_reader_gets_several_steps_at_once_and_loses_none() -> None:
    async def scenario(bench: Bench) -> None:
        words = 0
        async for event in bench.events(COMPLETIONS, {**ASK[COMPLETIONS], "max_tokens": 1500}):
            if isinstance(event, dict):
                words += len(event["choices"][0]["text"].split())
                await asyncio.sleep(0.001)
        assert words == 1500

    with_engine(scenario)


def test_an_engine_that_died_says_so_and_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_self: Scheduler, _now: float) -> None:
        raise RuntimeError("out of order")

    async def scenario(bench: Bench) -> None:
        monkeypatch.setattr(Scheduler, "begin", broken)
        for _ in range(2):
            with pytest.raises(aiohttp.ClientError):
                await bench.complete(prompt="a")
        async with bench.session.get(bench.engine.url + "/health") as response:
            assert response.status == 503
        monkeypatch.undo()
        await bench.control("restart")
        assert await bench.text("/health") == ""
        await bench.complete(prompt="a")

    with_engine(scenario)
    assert [record.message for record in caplog.records] == ["the replay engine's step loop died"]
