"""Latency watched beside acceptance: learned by batch size, alarmed on, and told apart from the draft."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.latency_cusum import Times
from specwatch_detectors.latency_monitor import MAX_BUCKETS, WARM_UP_S, LatencyMonitor
from specwatch_detectors.latency_reading import LatencyReading, batch_words
from specwatch_detectors.reading import Change, DriftState, Reading

STEP = 10.0
MEANS = {"1": 0.006, "16": 0.011, "+": 0.07}
OK = Reading(DriftState.OK, "as the baseline")


def seen(factor: float = 1.0, samples: float = 5000.0, **only: float) -> dict[str, Times]:
    counts = {name.removeprefix("b"): value for name, value in only.items()} or dict.fromkeys(MEANS, samples)
    return {name: Times(MEANS[name] * factor * count, count) for name, count in counts.items()}


def fed(
    monitor: LatencyMonitor, each: dict[str, Times], intervals: int, start: float, acceptance: Reading | None = OK
) -> list[LatencyReading]:
    return [monitor.update(each, start + STEP * interval, acceptance) for interval in range(intervals)]


def watching() -> LatencyMonitor:
    monitor = LatencyMonitor()
    fed(monitor, seen(), 300, 0.0)
    assert set(monitor.baselines) == set(MEANS)
    return monitor


def test_it_learns_before_it_judges() -> None:
    monitor = LatencyMonitor()
    assert monitor.reading(0.0).reason == "no latency samples yet"
    readings = fed(monitor, seen(), 300, 0.0)
    assert readings[0].state is DriftState.CANNOT_TELL
    assert readings[0].reason == "learning what tokens take at each batch size"
    assert readings[-1].state is DriftState.OK
    assert readings[-1].change == pytest.approx(0.0)
    assert monitor.baselines["16"].mean == pytest.approx(MEANS["16"])


def test_slow_tokens_with_healthy_acceptance_are_not_the_draft() -> None:
    monitor = watching()
    readings = fed(monitor, seen(1.31), 100, 5000.0)
    last = readings[-1]
    assert last.state is DriftState.DRIFTED
    assert last.direction == "slower"
    assert last.change == pytest.approx(0.31, abs=1e-4)
    assert last.since == 2990.0
    assert last.alarms == 1
    assert last.reason.startswith("tokens take 31% longer at batch")
    assert last.reason.endswith("acceptance as before: not the draft")


def test_the_batch_size_with_the_most_evidence_is_named() -> None:
    monitor = watching()
    slow = {**seen(), **seen(1.4, b16=5000.0)}
    reasons = [reading.reason for reading in fed(monitor, slow, 60, 5000.0) if reading.state is DriftState.DRIFTED]
    assert reasons[-1] == "tokens take 40% longer at batch 9 to 16 than before, acceptance as before: not the draft"


@pytest.mark.parametrize(
    ("acceptance", "words"),
    [
        (None, "acceptance not known"),
        (Reading(DriftState.DRIFTED, "x"), "and acceptance has dropped too: see the draft first"),
        (
            Reading(DriftState.CANNOT_TELL, "no drafts for 900 s"),
            "acceptance cannot be judged (no drafts for 900 s)",
        ),
        (Reading(DriftState.WATCH, "x"), "acceptance as before: not the draft"),
    ],
)
def test_acceptance_is_put_beside_it(acceptance: Reading | None, words: str) -> None:
    reading = fed(watching(), seen(1.5), 20, 5000.0, acceptance)[-1]
    assert reading.reason.endswith(words)


@pytest.mark.parametrize("load", [{"b1": 100.0}, {"b+": 1e6}, {"b1": 10.0, "b16": 1e5}])
def test_more_load_is_no_drift(load: dict[str, float]) -> None:
    readings = fed(watching(), seen(**load), 500, 5000.0)
    assert {reading.state for reading in readings} == {DriftState.OK}


def test_noise_as_learned_is_no_drift() -> None:
    source, monitor, states = random.Random(2), LatencyMonitor(), set()
    for interval in range(4000):
        noisy = {name: Times(mean * 5000 * math.exp(source.gauss(0, 0.04)), 5000.0) for name, mean in MEANS.items()}
        states.add(monitor.update(noisy, STEP * interval).state)
    assert DriftState.DRIFTED not in states
    assert set(monitor.baselines) == set(MEANS)


def test_a_pause_is_no_alarm() -> None:
    monitor = watching()
    fed(monitor, seen(20.0), 2, 5000.0)
    fed(monitor, seen(), 50, 5020.0)
    assert monitor.alarms == 0
    assert monitor.reading(5520.0).state is DriftState.OK


def test_slowness_ends_on_evidence_and_not_on_silence() -> None:
    monitor = watching()
    fed(monitor, seen(1.2), 20, 5000.0)
    assert monitor.drifted
    silent = fed(monitor, {}, 200, 6000.0)
    assert silent[-1].state is DriftState.CANNOT_TELL
    assert silent[-1].reason.endswith("before that tokens took longer than the baseline")
    assert fed(monitor, seen(1.2), 50, 9000.0)[-1].state is DriftState.DRIFTED
    assert fed(monitor, seen(), 50, 10_000.0)[-1].state is DriftState.OK
    assert monitor.alarms == 1


def test_faster_is_said_and_not_paged() -> None:
    reading = fed(watching(), seen(0.8), 50, 5000.0)[-1]
    assert (reading.state, reading.direction, reading.alarms) == (DriftState.OK, "faster", 0)
    assert reading.reason.startswith("tokens take 20% less time at batch")


def test_slowness_is_not_learned_as_normal() -> None:
    monitor = watching()
    before = monitor.baselines["16"].mean
    fed(monitor, seen(1.3), 2000, 5000.0)
    assert monitor.baselines["16"].mean == before


def test_a_batch_size_that_appears_later_joins() -> None:
    monitor = watching()
    fed(monitor, {**seen(), "64": Times(0.03 * 5000, 5000.0)}, 300, 5000.0)
    assert monitor.baselines["64"].mean == pytest.approx(0.03)


def test_batch_sizes_are_bounded() -> None:
    monitor = LatencyMonitor()
    for interval in range(50):
        monitor.update({str(interval * 100 + b): Times(1.0, 10.0) for b in range(10)}, STEP * interval)
    state = monitor.state()
    assert len(state["learning"]) <= MAX_BUCKETS
    assert len(state["recent"]) <= MAX_BUCKETS


@pytest.mark.parametrize("change", [Change.RESTART, Change.DEPLOY, Change.VERSION])
def test_an_engine_that_warms_up_is_not_judged_and_then_is(change: Change) -> None:
    monitor = watching()
    monitor.changed(change, 5000.0)
    warm = fed(monitor, seen(10.0), int(WARM_UP_S / STEP), 5000.0)
    assert {reading.state for reading in warm} == {DriftState.CANNOT_TELL}
    assert "warms up" in warm[0].reason
    assert fed(monitor, seen(), 50, 5000.0 + WARM_UP_S)[-1].state is DriftState.OK
    assert fed(monitor, seen(1.2), 50, 9000.0)[-1].state is DriftState.DRIFTED


def test_a_restart_does_not_end_slowness() -> None:
    monitor = watching()
    fed(monitor, seen(1.2), 20, 5000.0)
    monitor.changed(Change.RESTART, 6000.0)
    assert "before that tokens took longer" in monitor.reading(6001.0).reason
    assert fed(monitor, seen(1.2), 30, 6200.0)[-1].state is DriftState.DRIFTED
    assert monitor.alarms == 1


@pytest.mark.parametrize("change", [Change.METHOD, Change.DEPTH])
def test_another_method_or_depth_starts_anew(change: Change) -> None:
    monitor = watching()
    monitor.changed(change, 5000.0)
    assert monitor.baselines == {}
    readings = fed(monitor, seen(2.0), 300, 5000.0 + WARM_UP_S)
    assert readings[-1].state is DriftState.OK


def test_accept_makes_the_present_the_new_normal() -> None:
    monitor = watching()
    fed(monitor, seen(1.3), 20, 5000.0)
    monitor.accept()
    assert fed(monitor, seen(1.3), 300, 6000.0)[-1].state is DriftState.OK


@pytest.mark.parametrize(
    ("bucket", "words"),
    [
        ("1", "batch 1"),
        ("2", "batch 2"),
        ("4", "batch 3 to 4"),
        ("16", "batch 9 to 16"),
        ("+", "batch over 128"),
        ("7", "batch 7"),
        ("", "any batch"),
    ],
)
def test_batch_buckets_in_words(bucket: str, words: str) -> None:
    assert batch_words(bucket) == words


EVENTS = st.tuples(
    st.sampled_from([0.2, 1.0, 1.0, 1.0, 1.2, 1.5]),
    st.sampled_from([0.0, 3.0, 5000.0, 1e9]),
    st.sampled_from([None, None, None, "accept", *Change]),
    st.integers(1, 120),
)


def play(monitor: LatencyMonitor, events: list[Any], now: float) -> tuple[list[Any], float]:
    found: list[Any] = []
    for factor, samples, change, intervals in events:
        if change == "accept":
            monitor.accept()
        elif change is not None:
            monitor.changed(change, now)
        found += fed(monitor, seen(factor, samples), intervals, now + STEP)
        now += STEP * intervals
        found.append(monitor.state())
    return found, now


@given(st.lists(EVENTS, max_size=6), st.lists(EVENTS, min_size=1, max_size=4))
def test_the_future_after_a_restart_is_the_same(past: list[Any], future: list[Any]) -> None:
    first = LatencyMonitor()
    _, now = play(first, past, 0.0)
    second = LatencyMonitor(state=json.loads(json.dumps(first.state())))
    assert second.reading(now) == first.reading(now)
    assert play(second, future, now) == play(first, future, now)


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from(["1", "8", "+", "x"]), st.tuples(st.floats(0, 1e9), st.floats(0, 1e9))),
            st.floats(-50.0, 200.0),
        ),
        max_size=100,
    )
)
def test_nothing_that_a_histogram_counts_breaks_it(
    found: list[tuple[dict[str, tuple[float, float]], float]],
) -> None:
    monitor, now = LatencyMonitor(), 0.0
    for buckets, step in found:
        now += step
        kept = monitor.state()
        reading = monitor.update({name: Times(*each) for name, each in buckets.items()}, now)
        assert reading.score is None or math.isfinite(reading.score)
        if kept["seen"] is not None and now <= kept["seen"]:
            assert monitor.state() == kept


@pytest.mark.parametrize("key", sorted(LatencyMonitor().state()))
def test_a_state_without_one_of_its_parts_is_refused(key: str) -> None:
    state = {name: value for name, value in watching().state().items() if name != key}
    with pytest.raises(ValueError, match=key):
        LatencyMonitor(state=state)


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 2"):
        LatencyMonitor(state={**watching().state(), "version": 2})
