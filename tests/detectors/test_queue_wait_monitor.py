"""Queue waits watched: learned, alarmed on, and over only on evidence."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.queue_wait_monitor import QueueWaitMonitor
from specwatch_detectors.reading import DriftState, Reading

STEP = 10.0


def waits(beyond: float = 0.02, requests: float = 200.0) -> dict[float, float]:
    return {
        0.001: requests * (1.0 - 5.0 * beyond) if beyond < 0.2 else 0.0,
        0.01: requests * (1.0 - beyond),
        1.0: requests * (1.0 - beyond / 10.0),
        math.inf: requests,
    }


def fed(monitor: QueueWaitMonitor, each: dict[float, float], intervals: int, start: float) -> list[Reading]:
    return [monitor.update(each, start + STEP * interval) for interval in range(intervals)]


def watching() -> QueueWaitMonitor:
    monitor = QueueWaitMonitor()
    assert fed(monitor, waits(), 200, 0.0)[-1].state is DriftState.OK
    return monitor


def test_it_learns_before_it_judges() -> None:
    monitor = QueueWaitMonitor()
    assert monitor.reading(0.0).reason == "no requests yet"
    readings = fed(monitor, waits(), 200, 0.0)
    assert readings[0].state is DriftState.CANNOT_TELL
    assert readings[0].reason == "learning how long requests wait: 200 so far"
    assert readings[-1].reason == "waits as before: 2.0% waited more than 0.01 s, baseline 2.0%"


def test_waits_that_no_edge_holds_are_said_to_be_unjudgeable() -> None:
    hidden = {0.3: 10.0, math.inf: 200.0}
    reading = fed(QueueWaitMonitor(), hidden, 300, 0.0)[-1]
    assert reading.state is DriftState.CANNOT_TELL
    assert "last edge" in reading.reason


@pytest.mark.parametrize("beyond", [0.1, 0.4, 1.0])
def test_longer_queues_are_found_and_dated(beyond: float) -> None:
    monitor = watching()
    last = fed(monitor, waits(beyond), 300, 3000.0)[-1]
    assert last.state is DriftState.DRIFTED
    assert (last.alarms, last.since) == (1, 1990.0)
    assert last.reason == f"more requests wait long: {beyond:.1%} waited more than 0.01 s, baseline 2.0%"


def test_they_end_on_evidence_and_not_on_silence() -> None:
    monitor = watching()
    fed(monitor, waits(0.4), 60, 3000.0)
    assert fed(monitor, {}, 100, 5000.0)[-1].reason.endswith("more requests than usual waited long")
    assert fed(monitor, waits(0.4), 50, 7000.0)[-1].state is DriftState.DRIFTED
    assert fed(monitor, waits(), 600, 9000.0)[-1].state is DriftState.OK
    assert monitor.alarms == 1


def test_noise_in_bursts_is_no_alarm() -> None:
    source, monitor, states = random.Random(4), QueueWaitMonitor(), set()
    for interval in range(6000):
        states.add(monitor.update(waits(0.1 if source.random() < 0.1 else 0.01), STEP * interval).state)
    assert DriftState.DRIFTED not in states


def test_accept_learns_again() -> None:
    monitor = watching()
    fed(monitor, waits(0.4), 60, 3000.0)
    monitor.accept()
    assert fed(monitor, waits(0.4), 200, 5000.0)[-1].reason == (
        "waits as before: 4.0% waited more than 1 s, baseline 4.0%"
    )


EVENTS = st.tuples(
    st.sampled_from([0.0, 0.02, 0.02, 0.1, 0.9]), st.sampled_from([0.0, 1.0, 200.0, 1e9]), st.integers(1, 120)
)


def play(monitor: QueueWaitMonitor, events: list[tuple[float, float, int]], now: float) -> tuple[list[Any], float]:
    found: list[Any] = []
    for beyond, requests, intervals in events:
        found += fed(monitor, waits(beyond, requests), intervals, now + STEP)
        now += STEP * intervals
        found.append(monitor.state())
    return found, now


@given(st.lists(EVENTS, max_size=6), st.lists(EVENTS, min_size=1, max_size=4))
def test_the_future_after_a_restart_is_the_same(past: list[Any], future: list[Any]) -> None:
    first = QueueWaitMonitor()
    _, now = play(first, past, 0.0)
    second = QueueWaitMonitor(state=json.loads(json.dumps(first.state())))
    assert second.reading(now) == first.reading(now)
    assert play(second, future, now) == play(first, future, now)


@given(st.lists(st.dictionaries(st.sampled_from([0.001, 0.1, 1.0, math.inf]), st.floats(0, 1e9)), max_size=80))
def test_nothing_that_a_histogram_counts_breaks_it(found: list[dict[float, float]]) -> None:
    monitor = QueueWaitMonitor()
    for interval, buckets in enumerate(found):
        reading = monitor.update(buckets, STEP * interval)
        assert reading.score is None or math.isfinite(reading.score)
        kept = monitor.state()
        monitor.update(buckets, STEP * interval)
        assert monitor.state() == kept


@pytest.mark.parametrize("key", sorted(QueueWaitMonitor().state()))
def test_a_state_without_one_of_its_parts_is_refused(key: str) -> None:
    state = {name: value for name, value in watching().state().items() if name != key}
    with pytest.raises(ValueError, match=key):
        QueueWaitMonitor(state=state)
