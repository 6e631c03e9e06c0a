"""A restarted monitor has exactly the future of one that was never stopped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import expected, without_positions
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.reading import Change
from specwatch_detectors.window import Window

STEP = 10.0


def monitor(kind: str) -> DriftMonitor:
    if kind == "learning":
        return DriftMonitor(depth=3)
    return DriftMonitor(depth=3, baseline=Baseline(expected(1e6)), design=6.0, threshold=13.56)


# Share of the usual acceptance, drafts in an interval, a change before the first, number of intervals.
EVENTS = st.tuples(
    st.sampled_from([0.0, 0.3, 0.85, 0.96, 1.0, 1.0, 1.0, 1.05]),
    st.sampled_from([0.0, 40.0, 5000.0, 200_000.0]),
    st.sampled_from([None, None, None, None, "accept", *Change]),
    st.integers(1, 40),
)


def play(
    watched: DriftMonitor, events: list[tuple[float, float, str | None, int]], start: float, *, positions: bool
) -> tuple[list[Any], float]:
    now = start
    found: list[Any] = []
    for factor, drafts, change, times in events:
        if change == "accept":
            watched.accept()
        elif change is not None:
            watched.changed(Change(change))
        seen: Window = expected(drafts, factor=factor)
        for _ in range(times):
            now += STEP
            found.append(watched.update(seen if positions else without_positions(seen), now))
        found.append(watched.state())
    return found, now


@pytest.mark.parametrize("kind", ["learning", "calibrated"])
@pytest.mark.parametrize("positions", [True, False])
@given(st.lists(EVENTS, max_size=12), st.lists(EVENTS, min_size=1, max_size=8))
def test_the_future_is_the_same(kind: str, positions: bool, past: list[Any], future: list[Any]) -> None:
    first = monitor(kind)
    _, now = play(first, past, 0.0, positions=positions)
    second = DriftMonitor(state=json.loads(json.dumps(first.state())))
    assert second.reading(now + 1.0) == first.reading(now + 1.0)
    assert second.state() == first.state()
    assert play(second, future, now, positions=positions) == play(first, future, now, positions=positions)


def test_a_monitor_in_use_takes_a_state_over() -> None:
    drifted, other = monitor("calibrated"), monitor("calibrated")
    play(drifted, [(0.5, 5000.0, None, 20)], 0.0, positions=True)
    play(other, [(1.0, 5000.0, "deploy", 1)], 0.0, positions=True)
    other.restore(json.loads(json.dumps(drifted.state())))
    assert other.state() == drifted.state()
    other.restore(monitor("learning").state())
    assert not other.drifted
    assert not other.testing_deploy


@pytest.mark.parametrize("key", sorted(DriftMonitor().state()))
def test_a_state_without_one_of_its_parts_is_refused(key: str) -> None:
    state = {name: value for name, value in monitor("calibrated").state().items() if name != key}
    with pytest.raises(ValueError, match=key):
        DriftMonitor(state=state)


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"alarms": None}, {"baseline": {}}, {"bank": []}, {"spread": 3}, {"deploy_change": "x"}],
)
def test_a_state_that_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"state|baseline|Change"):
        DriftMonitor(state={**monitor("calibrated").state(), **change})
