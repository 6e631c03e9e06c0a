"""Nothing that goes wrong inside the plugin reaches the engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter

from exporters import vllm_stats_fakes as fakes
from specwatch_exporters.vllm_plugin.flush_timer import INTERVAL_S, MAX_STEPS, FlushTimer
from specwatch_exporters.vllm_plugin.start import PluginRecorder, start_recorder
from specwatch_exporters.vllm_plugin.stat_logger import RecordingLogger

RELEASE = fakes.RELEASES[-1]
LOG = logging.getLogger("test.specwatch")
COUNTS = {"model": "m", "engine": "0", "definition": "vllm-v1-plugin"}


def started(registry: CollectorRegistry, config: Any = None, engines: tuple[int, ...] = (0,)) -> PluginRecorder:
    recorder = start_recorder(config or fakes.vllm_config(), engines, "0.33.0", registry, LOG)
    assert recorder is not None
    return recorder


def errors(registry: CollectorRegistry, part: str) -> float | None:
    return registry.get_sample_value("specwatch_plugin_errors_total", {"part": part})


class Broken:
    """A configuration or a statistics object whose every field raises."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what pytest and hypothesis ask for
            raise AttributeError(name)
        raise RuntimeError(f"no {name} today")


def good_step(recorder: PluginRecorder) -> None:
    iteration = fakes.iteration_stats(RELEASE, 4, gaps=[0.03, 0.03])
    recorder.record(fakes.scheduler_stats(RELEASE, 2, [(4, 2), (4, 0)]), iteration, 0)


def with_field(stats: Any, name: str, value: object) -> Any:
    setattr(stats, name, value)
    return stats


@pytest.mark.parametrize(
    ("part", "scheduler", "iteration"),
    [
        ("batch", Broken(), fakes.iteration_stats(RELEASE, 1, gaps=[0.1])),
        ("batch", fakes.scheduler_stats(RELEASE, 1), Broken()),
        ("batch", with_field(fakes.scheduler_stats(RELEASE, 1), "num_running_reqs", "many"), None),
        ("speculation", with_field(fakes.scheduler_stats(RELEASE, 1), "spec_decoding_stats", Broken()), None),
        ("latency", None, with_field(fakes.iteration_stats(RELEASE, 1), "inter_token_latencies_iter", [None])),
        ("latency", None, with_field(fakes.iteration_stats(RELEASE, 1), "inter_token_latencies_iter", ["x"])),
        ("requests", None, fakes.iteration_stats(RELEASE, finished=[Broken()])),
        ("outcome", None, fakes.iteration_stats(RELEASE, finished=[fakes.finished_request(RELEASE, "bored")])),
    ],
)
def test_an_error_in_a_step_is_counted_and_the_next_step_is_fine(
    part: str, scheduler: Any, iteration: Any, caplog: pytest.LogCaptureFixture
) -> None:
    registry = CollectorRegistry()
    recorder = started(registry)
    for _ in range(3):
        recorder.record(scheduler, iteration, 0)
    good_step(recorder)
    recorder.flush()
    assert errors(registry, part) == (1 if part == "outcome" else 3)
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    assert registry.get_sample_value("specwatch_drafts_total", COUNTS) == 2


@given(st.lists(st.sampled_from([None, 0, -1, "x", [], [1], {}, Broken(), float("nan")]), min_size=3, max_size=3))
def test_no_statistics_whatever_they_are_raise(odd: list[Any]) -> None:
    registry = CollectorRegistry()
    recorder = started(registry)
    scheduler = with_field(fakes.scheduler_stats(RELEASE, 1), "spec_decoding_stats", odd[0])
    for first, second in ((odd[1], odd[2]), (scheduler, odd[1])):
        recorder.record(first, second, 0)
    recorder.flush()
    good_step(recorder)
    recorder.flush()
    assert registry.get_sample_value("specwatch_drafts_total", COUNTS) == 2


def test_a_failing_registry_costs_its_values_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = CollectorRegistry()
    recorder = started(registry)
    good_step(recorder)

    def full(*_: object) -> None:
        raise OSError("no space left on the device of the shared files")

    with monkeypatch.context() as patch:
        patch.setattr(Counter, "inc", full)
        recorder.flush()
    good_step(recorder)
    recorder.flush()
    assert errors(registry, "publish") == 1
    assert registry.get_sample_value("specwatch_drafts_total", COUNTS) == 2


@pytest.mark.parametrize("config", [Broken(), SimpleNamespace(model_config=Broken(), speculative_config=None)])
def test_a_start_that_fails_leaves_the_engine_without_the_plugin(
    config: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Logger(RecordingLogger):
        start = staticmethod(lambda config, engines, version: start_recorder(config, engines, version, log=LOG))
        vllm_version = "0.33.0"

    logger = Logger(config, [0])
    logger.record(fakes.scheduler_stats(RELEASE, 1), None)
    logger.log()
    logger.log_engine_initialized()
    assert "could not start and is off" in caplog.text


def test_a_second_engine_in_the_process_goes_on_with_the_counters() -> None:
    registry = CollectorRegistry()
    for _ in range(2):
        recorder = started(registry)
        good_step(recorder)
        recorder.flush()
    assert registry.get_sample_value("specwatch_drafts_total", COUNTS) == 4


def test_label_values_cannot_break_the_page() -> None:
    registry = CollectorRegistry()
    config = fakes.vllm_config(model='a"\n\\\ud800' + "x" * 500, method="é\n")
    recorder = started(registry, config)
    good_step(recorder)
    recorder.flush()
    samples = [sample for family in registry.collect() for sample in family.samples]
    values = {value for sample in samples for value in sample.labels.values()}
    assert all(len(value) <= 128 and value.isprintable() for value in values)


class Loop:
    """An event loop that only keeps its timers."""

    def __init__(self) -> None:
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.cancelled = 0

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Any:
        self.timers.append((delay_s, call))
        return SimpleNamespace(cancel=self._cancel)

    def _cancel(self) -> None:
        self.cancelled += 1


def test_one_timer_runs_from_the_first_step_to_the_flush() -> None:
    loop, flushes = Loop(), []
    timer = FlushTimer(lambda: flushes.append(1), loop=lambda: loop, clock=lambda: 0.0)  # type: ignore[arg-type, return-value]
    for _ in range(5):
        timer.touch()
    assert [delay for delay, _ in loop.timers] == [INTERVAL_S]
    assert flushes == []
    loop.timers[0][1]()
    assert flushes == [1]
    timer.touch()
    assert len(loop.timers) == 2


def test_a_loop_that_never_fires_is_not_waited_for() -> None:
    loop, flushes = Loop(), []
    timer = FlushTimer(lambda: flushes.append(1), loop=lambda: loop, clock=lambda: 0.0)  # type: ignore[arg-type, return-value]
    for _ in range(2 * MAX_STEPS + 1):
        timer.touch()
    assert flushes == [1, 1]
    assert loop.cancelled == 2
    assert len(loop.timers) == 3


def test_without_a_loop_the_clock_decides() -> None:
    now, flushes = [0.0], []
    timer = FlushTimer(lambda: flushes.append(now[0]), interval_s=1.0, clock=lambda: now[0])
    for moment in (0.5, 0.9, 1.0, 1.5, 2.5):
        now[0] = moment
        timer.touch()
    assert flushes == [1.0, 2.5]


def test_steps_are_published_from_a_running_loop_without_further_calls() -> None:
    registry = CollectorRegistry()
    recorder = started(registry)

    async def engine() -> None:
        good_step(recorder)
        assert registry.get_sample_value("specwatch_drafts_total", COUNTS) == 0
        await asyncio.sleep(INTERVAL_S + 0.1)

    asyncio.run(engine())
    assert registry.get_sample_value("specwatch_drafts_total", COUNTS) == 2


def test_a_closed_loop_is_an_error_of_the_timer_alone() -> None:
    registry = CollectorRegistry()
    recorder = started(registry)
    loop = asyncio.new_event_loop()
    loop.close()
    recorder._timer._loop = lambda: loop
    good_step(recorder)
    recorder.flush()
    assert errors(registry, "timer") == 1
    assert registry.get_sample_value("specwatch_drafts_total", COUNTS) == 2
