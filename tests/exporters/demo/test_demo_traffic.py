from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import pytest

from exporters.replay.replay_client import FAST, Bench, with_engine
from specwatch_exporters.demo.traffic import Traffic
from specwatch_exporters.demo.traffic_plan import Lengths, TrafficPlan
from specwatch_exporters.demo.traffic_record import ERROR, OK, STOPPED, StreamReading, TrafficReport
from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings

Result = TypeVar("Result")
SMALL = Lengths(20)


def traffic(bench: Bench, **fields: Any) -> Traffic:
    chosen = {"url": bench.engine.url, "prompt": SMALL, "output": SMALL, **fields}
    return Traffic(TrafficPlan(**chosen))


def ran(settings: ReplaySettings | None = None, **fields: Any) -> TrafficReport:
    async def scenario(bench: Bench) -> TrafficReport:
        return await traffic(bench, **fields).run()

    return with_engine(scenario, settings or ReplaySettings(speed=FAST, per_request=PerRequest.SUMMARY))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"count": 1}, "either concurrency"),
        ({"count": 1, "concurrency": 1, "rate": 1.0}, "either concurrency"),
        ({"rate": 1.0}, "give seconds or count"),
        ({"count": 1, "rate": 1.0, "mix": {}}, "positive weight"),
        ({"count": 1, "rate": 1.0, "mix": {"code": -1.0, "chat": 2.0}}, "positive weight"),
    ],
)
def test_a_plan_without_bounds_or_kind_is_refused(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        TrafficPlan(url="http://example.com", **fields)


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("kind", [{"concurrency": 4}, {"rate": 500.0}])
def test_every_request_is_sent_answered_and_recorded(kind: dict[str, Any], *, chat: bool) -> None:
    report = ran(count=40, chat=chat, **kind)
    assert (report.sent, report.dropped, report.outcomes) == (40, 0, Counter({OK: 40}))
    for record in report.records:
        assert record.tokens == 20
        assert record.first_token is not None
        assert 0 < record.first_token <= record.latency
        assert sum(record.gaps) <= record.latency
        assert record.metrics is not None
        # One chunk for the first token and one per draft step.
        assert len(record.gaps) == record.metrics["speculative_decoding"]["num_spec_steps"]


def test_the_mix_decides_the_classes() -> None:
    report = ran(count=300, concurrency=8, mix={"code": 3.0, "math": 1.0})
    seen = Counter(record.traffic_class for record in report.records)
    assert set(seen) == {"code", "math"}
    assert seen["code"] == pytest.approx(225, abs=40)


def test_the_engine_sees_the_classes() -> None:
    async def scenario(bench: Bench) -> dict[str, Any]:
        await traffic(bench, count=30, concurrency=3, mix={"math": 1.0}).run()
        return dict(bench.engine.state()["classes"])

    classes = with_engine(scenario)
    assert classes["math"]["drafts"] > 0
    assert classes["code"]["drafts"] == classes["chat"]["drafts"] == 0


def test_a_closed_loop_never_has_more_in_flight() -> None:
    most = 0

    async def scenario(bench: Bench) -> None:
        nonlocal most
        load = traffic(bench, count=60, concurrency=3)
        running = asyncio.create_task(load.run())
        while not running.done():
            most = max(most, bench.engine.core.open_requests)
            await asyncio.sleep(0)
        await running

    with_engine(scenario)
    assert most == 3


def watched(
    settings: ReplaySettings, act: Callable[[Bench, Traffic], Awaitable[Result]], **fields: Any
) -> tuple[Result, TrafficReport]:
    """Act while the load runs, then stop it."""

    async def scenario(bench: Bench) -> tuple[Result, TrafficReport]:
        load = traffic(bench, **fields)
        running = asyncio.create_task(load.run())
        result = await act(bench, load)
        load.stop()
        return result, await running

    return with_engine(scenario, settings)


def settled(scheduler: Scheduler, load: Traffic, wanted: int) -> bool:
    return scheduler.load.running == load.in_flight == wanted


def test_the_load_follows_its_changes() -> None:
    async def act(bench: Bench, load: Traffic) -> list[int]:
        scheduler = bench.engine.core.scheduler
        seen = []
        for wanted in (2, 6, 0, 1):
            load.change(concurrency=wanted)
            await bench.until(partial(settled, scheduler, load, wanted))
            seen.append(load.in_flight)
        return seen

    seen, report = watched(ReplaySettings(speed=50), act, seconds=50, concurrency=1)
    assert seen == [2, 6, 0, 1]
    assert report.outcomes[ERROR] == 0


def test_a_rate_can_be_paused_and_taken_up_again() -> None:
    async def act(bench: Bench, load: Traffic) -> None:
        await bench.until(lambda: load.report.outcomes[OK] > 3)
        load.change(rate=0.0)
        await bench.until(lambda: load.in_flight == 0)
        before = load.report.sent
        await asyncio.sleep(0.05)
        assert load.report.sent == before
        load.change(rate=400.0, mix={"code": 1.0})
        await bench.until(lambda: load.report.sent > before + 3)

    _, report = watched(ReplaySettings(speed=FAST), act, seconds=50, rate=400.0)
    assert report.outcomes[ERROR] == 0


def test_a_loop_cannot_change_its_kind() -> None:
    closed = Traffic(TrafficPlan(url="http://example.com", concurrency=1, count=1))
    with pytest.raises(ValueError, match="cannot change its kind"):
        closed.change(rate=1.0)
    with pytest.raises(ValueError, match="positive weight"):
        closed.change(mix={})


def test_stopping_cuts_everything_at_once() -> None:
    async def act(bench: Bench, _load: Traffic) -> None:
        await bench.until(lambda: bench.engine.core.scheduler.load.running == 5 and bench.engine.core.steps > 2)

    settings = ReplaySettings(speed=1)
    _, report = watched(settings, act, seconds=1000, concurrency=5, output=Lengths(2000))
    assert report.outcomes == Counter({STOPPED: 5})
    assert report.sent == len(report.records) == 5


def test_time_ends_a_run_that_nobody_stops() -> None:
    report = ran(ReplaySettings(speed=1), seconds=0.2, concurrency=2, output=Lengths(2000))
    assert report.outcomes == Counter({STOPPED: 2})


def test_arrivals_beyond_the_limit_are_dropped_and_counted() -> None:
    report = ran(
        ReplaySettings(speed=1), count=30, rate=5000.0, max_in_flight=4, output=Lengths(2), prompt=Lengths(1)
    )
    assert report.sent + report.dropped == 30
    assert report.dropped > 0
    assert report.sent >= 4


@pytest.mark.parametrize(
    ("mode", "message"),
    [("500", "status 500"), ("truncate", "the stream ended early"), ("cut", "Error: "), ("html", "ended early")],
)
def test_failures_become_errors_with_a_reason(mode: str, message: str) -> None:
    async def scenario(bench: Bench) -> TrafficReport:
        await bench.control("fail", {"mode": mode, "target": "completions"})
        return await traffic(bench, count=3, concurrency=3).run()

    report = with_engine(scenario)
    assert report.outcomes == Counter({ERROR: 3})
    assert all(message in record.error for record in report.records)


def test_nobody_listening_is_an_error_too() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        plan = TrafficPlan(url=f"http://127.0.0.1:{silent.getsockname()[1]}", concurrency=2, count=2)
        report = asyncio.run(Traffic(plan).run())
    assert report.outcomes == Counter({ERROR: 2})


def test_only_the_newest_records_are_kept() -> None:
    report = ran(count=30, concurrency=4, keep=5)
    assert (len(report.records), report.outcomes[OK]) == (5, 30)


def test_the_same_seed_makes_the_same_requests() -> None:
    def kinds(seed: int) -> list[tuple[str, int | None]]:
        report = ran(count=20, concurrency=1, seed=seed, output=Lengths(20, sigma=0.5))
        return [(record.traffic_class, record.tokens) for record in report.records]

    assert kinds(1) == kinds(1) != kinds(2)


def test_a_stream_is_read_in_any_portions() -> None:
    whole = (
        b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\r\n\r\n: comment\n\n'
        b'data: {"choices":[{"delta":{"content":"\xc3\xa9"}}]}\n\ndata: {"choices":[{"text":" b"}]}\n\n'
        b'data: {"choices":[],"usage":{"completion_tokens":2},"metrics":{"queue_time_ms":1}}\n\ndata: [DONE]\n\n'
    )
    for size in (1, 7, len(whole)):
        reading = StreamReading(Clock())
        for start in range(0, len(whole), size):
            reading.feed(whole[start : start + size])
        record = reading.record("chat", OK, "")
        assert (reading.complete, record.tokens, len(record.gaps)) == (True, 2, 1)
        assert record.metrics == {"queue_time_ms": 1}


@pytest.mark.parametrize("event", [b"data: {\n", b"data: [1]\n"])
def test_an_event_that_is_no_object_is_refused(event: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON object|Expecting"):
        StreamReading(Clock()).feed(event)
