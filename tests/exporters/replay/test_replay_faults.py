from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from exporters.replay.replay_client import FAST, Bench, value, with_engine
from specwatch_exporters.replay.settings import ReplaySettings

FORCED: dict[str, Any] = {"prompt": "a", "max_tokens": 60, "ignore_eos": True}
SHORT = aiohttp.ClientTimeout(total=0.3)
BROKEN = (aiohttp.ClientError, TimeoutError)


async def raw(bench: Bench, path: str = "/metrics") -> tuple[int, str, bytes]:
    async with bench.session.get(bench.engine.url + path, timeout=SHORT, allow_redirects=False) as response:
        return response.status, response.headers.get("Content-Type", ""), await response.read()


@pytest.mark.parametrize(
    ("mode", "status", "media"),
    [("500", 500, "text/plain"), ("503", 503, "text/plain"), ("html", 200, "text/html"), ("redirect", 302, "")],
)
def test_an_answer_that_is_not_the_page(mode: str, status: int, media: str) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": mode, "target": "metrics"})
        seen, content_type, body = await raw(bench)
        assert seen == status
        assert media in content_type
        assert b"vllm:" not in body
        assert (await raw(bench, "/health"))[0] == 200
        await bench.complete(**FORCED)
        await bench.control("fail", {"mode": "none"})
        assert b"vllm:" in (await raw(bench))[2]

    with_engine(scenario)


@pytest.mark.parametrize("mode", ["hang", "hang_body"])
def test_a_hanging_answer_ends_when_the_failure_does(mode: str) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": mode, "seconds": 60})
        with pytest.raises(TimeoutError):
            await raw(bench)
        waiting = asyncio.create_task(bench.complete(**FORCED))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await bench.control("fail", {"mode": "none"})
        with pytest.raises(aiohttp.ClientError):
            await waiting
        assert b"vllm:" in (await raw(bench))[2]

    with_engine(scenario)


def test_a_failure_ends_by_itself() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": "500", "target": "metrics", "seconds": 0.1})
        assert (await raw(bench))[0] == 500
        await bench.until(lambda: bench.engine.state()["faults"] == [])
        assert (await raw(bench))[0] == 200

    with_engine(scenario)


def test_a_truncated_page_is_a_whole_answer_that_ends_within_a_line() -> None:
    async def scenario(bench: Bench) -> None:
        whole = (await raw(bench))[2]
        await bench.control("fail", {"mode": "truncate", "target": "metrics"})
        status, content_type, body = await raw(bench)
        assert (status, "version=" in content_type) == (200, True)
        assert len(whole) / 3 < len(body) < len(whole) * 2 / 3
        assert not body.endswith(b"\n")

    with_engine(scenario)


def test_a_cut_page_breaks_the_connection() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": "cut", "target": "metrics"})
        with pytest.raises(aiohttp.ClientPayloadError):
            await raw(bench)

    with_engine(scenario)


def test_a_slow_page_is_right_but_late() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": "slow", "target": "metrics", "delay_s": 1.0})
        with pytest.raises(TimeoutError):
            await raw(bench)
        await bench.control("fail", {"mode": "slow", "target": "metrics", "delay_s": 0.05})
        assert b"vllm:" in (await raw(bench))[2]

    with_engine(scenario)


@pytest.mark.parametrize("mode", ["truncate", "cut", "hang_body"])
def test_a_stream_that_breaks_off_has_no_end(mode: str) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": mode, "target": "completions", "seconds": 0.2})
        seen = []
        try:
            async for event in bench.events("/v1/completions", FORCED):
                seen.append(event)  # noqa: PERF401 (kept when the stream breaks)
        except aiohttp.ClientError:
            assert mode != "truncate"
        else:
            assert mode == "truncate"
        assert len(seen) == 3
        assert "[DONE]" not in seen
        await bench.until(lambda: bench.engine.core.open_requests == 0)
        assert bench.engine.state()["running"] == 0

    with_engine(scenario)


@pytest.mark.parametrize("mode", ["cut", "hang_body"])
def test_a_whole_response_can_break_off_too(mode: str) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": mode, "target": "completions", "seconds": 0.2})
        with pytest.raises(aiohttp.ClientError):
            await bench.complete(**FORCED)

    with_engine(scenario)


def test_all_means_every_route_but_the_control_routes() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": "503"})
        for path in ("/metrics", "/health", "/version", "/v1/models"):
            assert (await raw(bench, path))[0] == 503
        assert (await raw(bench, "/replay/state"))[0] == 200

    with_engine(scenario)


def test_a_newer_failure_replaces_the_older_one_of_its_target() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": "500", "target": "metrics"})
        await bench.control("fail", {"mode": "html", "target": "metrics"})
        await bench.control("fail", {"mode": "503", "target": "health"})
        assert bench.engine.state()["faults"] == [
            {"mode": "html", "target": "metrics"},
            {"mode": "503", "target": "health"},
        ]

    with_engine(scenario)


def test_refusing_closes_connections_and_keeps_the_counts() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.complete(**FORCED)
        await bench.control("fail", {"mode": "refuse", "seconds": 0.3})
        with pytest.raises(aiohttp.ClientConnectorError):
            async with aiohttp.ClientSession() as fresh, fresh.get(bench.engine.url + "/metrics"):
                pass
        page = None
        while page is None:
            try:
                page = await bench.page()
            except aiohttp.ClientError:
                await asyncio.sleep(0.02)
        assert value(page, "vllm:generation_tokens_total") == 60.0
        assert bench.engine.state()["restarts"] == 0

    with_engine(scenario)


def test_a_stalled_engine_answers_but_makes_no_token() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": "stall"})
        asking = asyncio.create_task(bench.complete(**FORCED))
        await bench.until(lambda: bench.engine.core.open_requests == 1)
        await asyncio.sleep(0.05)
        assert bench.engine.core.steps == 0
        assert (await raw(bench, "/health"))[0] == 200
        assert not asking.done()
        await bench.control("fail", {"mode": "none"})
        assert (await asking)["usage"]["completion_tokens"] == 60

    with_engine(scenario)


def test_a_restart_ends_failures() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.control("fail", {"mode": "500"})
        await bench.control("restart")
        assert (await raw(bench))[0] == 200

    with_engine(scenario, ReplaySettings(speed=FAST))


def test_failures_write_no_error_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(bench: Bench) -> None:
        for mode in ("cut", "hang_body", "truncate", "hang"):
            await bench.control("fail", {"mode": mode, "seconds": 0.1})
            for ask in (raw(bench), bench.complete(**FORCED), bench.stream("/v1/completions", FORCED)):
                try:
                    await ask
                except (*BROKEN, AssertionError, ValueError):
                    continue

    with_engine(scenario)
    assert [record for record in caplog.records if record.levelname in {"ERROR", "CRITICAL"}] == []
