"""One stream watched: it learns, alarms on evidence, ends a drift on evidence, and says when it cannot tell."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Q, expected, without_positions
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.drift_bank import COARSE, FINE, Member
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import DriftState, Reading
from specwatch_detectors.window import NOTHING, Window, window

STEP = 10.0
GOOD = Baseline(expected(1e7))


def calibrated() -> DriftMonitor:
    return DriftMonitor(depth=3, baseline=GOOD, design=10.0, threshold=13.56)


def fed(monitor: DriftMonitor, seen: Window, intervals: int, start: float = 0.0) -> list[Reading]:
    return [monitor.update(seen, start + STEP * (i + 1)) for i in range(intervals)]


def first_alarm(readings: list[Reading]) -> int:
    return next((i for i, reading in enumerate(readings) if reading.state is DriftState.DRIFTED), -1)


def trimmed(depth: int, drafts: float, factor: float = 1.0) -> Window:
    """Drafts of that depth on the page of an engine with three positions."""
    kept = expected(drafts, Q[:depth], factor).accepted
    return window(drafts, [*kept, *([0.0] * (3 - depth))], draft_tokens=drafts * depth)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 50, 5000, 10**6, 10**9])), max_size=60))
def test_no_order_of_depths_and_volumes_alarms_or_takes_members_away(parts: list[tuple[int, int]]) -> None:
    monitor, active = DriftMonitor(depth=3), False
    for at, (depth, drafts) in enumerate(parts * 4):
        reading = monitor.update(trimmed(depth, float(drafts)) if depth else NOTHING, STEP * (at + 1))
        assert reading.alarms == 0
        assert monitor.bank.members or not active
        active = bool(monitor.bank.members)
        both = reading.length, reading.baseline_length
        assert None in both or reading.length == pytest.approx(reading.baseline_length, abs=0.02) or not active


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("drafts", [300.0, 5000.0, 1e9])
def test_a_drop_is_found_at_any_depth(depth: int, drafts: float) -> None:
    monitor = calibrated()
    assert first_alarm(fed(monitor, trimmed(depth, drafts), 100)) == -1
    assert first_alarm(fed(monitor, trimmed(depth, drafts, 0.8), 200, 1e4)) >= 0


def test_a_profile_of_fewer_positions_grows_and_is_then_no_longer_what_was_certified() -> None:
    monitor = DriftMonitor(depth=3, baseline=GOOD.first(1), design=10.0, threshold=13.56)
    readings = fed(monitor, expected(5000), 30)
    assert readings[0].calibrated
    assert "positions 2 to 3 are still being learned" in readings[0].reason
    readings = fed(monitor, expected(5000), 600, 1e4)
    assert (monitor.bank.judged, readings[-1].calibrated) == (3, False)
    assert "learned" not in readings[-1].reason
    worse = window(5000, [3500, 3500 * 0.5, 3500 * 0.5 * 0.5])
    assert first_alarm(fed(monitor, worse, 60, 1e5)) >= 0


def test_growing_goes_on_from_the_state() -> None:
    monitor = DriftMonitor(depth=3, baseline=GOOD.first(1), design=10.0, threshold=13.56)
    fed(monitor, expected(5000), 30)
    again = DriftMonitor(state=json.loads(json.dumps(monitor.state())))
    for one in (monitor, again):
        fed(one, expected(5000), 600, 1e4)
    assert again.state() == monitor.state()


# Learning.


@pytest.mark.parametrize("positions", [True, False])
def test_it_learns_coarsely_and_then_finely(positions: bool) -> None:
    monitor = DriftMonitor(depth=3)
    seen = expected(5000) if positions else without_positions(expected(5000))
    stages: list[tuple[Member, ...]] = []
    for interval in range(1500):
        reading = monitor.update(seen, STEP * interval)
        if not stages or stages[-1] != monitor.bank.members:
            stages.append(monitor.bank.members)
            assert (reading.state is DriftState.CANNOT_TELL) is (monitor.bank.members == ())
    assert stages[0] == ()
    assert max(member.ratio for member in stages[1]) < max(member.ratio for member in FINE)
    assert stages[-1] == FINE
    assert fed(monitor, seen, 1, 1e6)[0].reason.startswith("as the baseline: acceptance length")


def test_before_anything_is_known_it_says_so() -> None:
    monitor = DriftMonitor()
    assert monitor.reading(0.0) == Reading(DriftState.CANNOT_TELL, "no drafts yet", design=45.0)
    reading = monitor.update(expected(10), 10.0)
    assert reading.reason == "learning the baseline: 10 drafts so far"
    assert reading.score is None


def test_a_large_drop_while_it_learns_is_found_by_the_coarse_member() -> None:
    monitor = DriftMonitor(depth=3)
    for interval in range(400):
        monitor.update(expected(5000), STEP * interval)
        if monitor.bank.members:
            break
    assert monitor.bank.members == (COARSE,)
    assert first_alarm(fed(monitor, expected(5000, factor=0.6), 60, 1e4)) >= 0


def test_drift_is_not_learned_as_normal() -> None:
    """A drop while the baseline is young: the baseline hardly moves, and the drop is found in the end."""
    monitor = DriftMonitor(depth=3)
    interval = 0
    while not monitor.bank.members:
        monitor.update(expected(5000), STEP * interval)
        interval += 1
    before = monitor.bank.baseline.mean_accepted
    readings = fed(monitor, expected(5000, factor=0.7), 400, STEP * interval)
    after = monitor.bank.baseline.mean_accepted
    assert readings[-1].state is DriftState.DRIFTED
    assert before is not None
    assert after is not None
    assert after > 0.97 * before


def test_a_baseline_too_small_for_its_spread_learns_on() -> None:
    monitor = DriftMonitor(depth=3, baseline=Baseline(expected(5000)), design=40.0)
    assert not monitor.bank.complete
    fed(monitor, expected(5000), 1500)
    assert monitor.bank.complete


def test_the_spread_is_measured_on_and_used() -> None:
    """The prior of 30 gives way once the traffic has shown that its spread is narrow."""
    monitor = DriftMonitor(depth=3)
    designs = [reading.design for reading in fed(monitor, expected(20_000), 2500)]
    assert designs[0] == 45.0
    assert designs[-1] is not None
    assert designs[-1] < 10.0


def test_a_draft_that_never_accepts_is_learned_about_without_an_error() -> None:
    for seen in (window(5000, [0, 0, 0]), Window(5000.0)):
        assert fed(DriftMonitor(depth=3), seen, 100)[-1].state is DriftState.CANNOT_TELL


def test_so_is_one_that_accepts_everything() -> None:
    for seen in (window(5000, [5000] * 3), Window(5000.0, accepted_tokens=15_000.0)):
        readings = fed(DriftMonitor(depth=3), seen, 100)
        assert all(reading.state is not DriftState.DRIFTED for reading in readings)


# Watching.


@pytest.mark.parametrize("factor", [1.0, 1.05, 0.995])
def test_acceptance_as_before_stays_ok(factor: float) -> None:
    readings = fed(calibrated(), expected(5000, factor=factor), 2000)
    assert {reading.state for reading in readings} == {DriftState.OK}
    assert readings[-1].alarms == 0
    assert readings[-1].since is None


@pytest.mark.parametrize(("factor", "most"), [(0.97, 60), (0.9, 8), (0.5, 4), (0.0, 3)])
def test_a_drop_is_found_and_dated(factor: float, most: int) -> None:
    monitor = calibrated()
    fed(monitor, expected(5000), 100)
    readings = fed(monitor, expected(5000, factor=factor), most, 100 * STEP)
    alarm = readings[-1]
    assert alarm.state is DriftState.DRIFTED
    assert alarm.since == 100 * STEP
    assert alarm.alarms == 1
    assert alarm.score is not None
    assert alarm.score >= 1.0
    assert "baseline 2.46" in alarm.reason


def test_growing_evidence_is_shown_before_the_alarm() -> None:
    states = [reading.state for reading in fed(calibrated(), expected(5000, factor=0.97), 60)]
    assert [state for i, state in enumerate(states) if not i or states[i - 1] != state] == [
        DriftState.OK,
        DriftState.WATCH,
        DriftState.DRIFTED,
    ]


def test_a_dead_draft_is_named() -> None:
    readings = fed(calibrated(), window(5000, [50, 0, 0]), 3)
    assert readings[-1].state is DriftState.DRIFTED


@pytest.mark.parametrize("drafts", [1.0, 10.0, 30.0])
def test_no_alarm_below_the_floor_of_effective_drafts(drafts: float) -> None:
    """Whatever the evidence: under 30 effective drafts since the onset nobody is woken."""
    settings = MonitorSettings()
    monitor = DriftMonitor(settings, depth=3, baseline=GOOD, design=10.0, threshold=0.5)
    floor = settings.least_effective * monitor.bank.design
    seen = 0.0
    for interval in range(int(2 * floor / drafts)):
        seen += drafts
        reading = monitor.update(expected(drafts, factor=0.3), STEP * interval)
        if seen < floor:
            assert reading.state is not DriftState.DRIFTED
    assert monitor.alarms == 1


@pytest.mark.parametrize("drafts", [10.0, 1e3, 1e6, 1e9])
def test_a_dropped_draft_is_found_at_any_volume(drafts: float) -> None:
    readings = fed(calibrated(), expected(drafts, factor=0.8), 2000)
    assert first_alarm(readings) >= 0


def test_another_number_of_draft_tokens_from_interval_to_interval_is_no_drift() -> None:
    """Dynamic K: positions that were not verified are not missed."""
    monitor = calibrated()
    full = expected(5000)
    for interval in range(2000):
        depth = interval % 3 + 1
        reading = monitor.update(window(5000, full.accepted[:depth]), STEP * interval)
        assert reading.state is DriftState.OK


# Ending a drift.


def test_a_drift_ends_only_on_evidence() -> None:
    monitor = calibrated()
    drop = expected(5000, factor=0.9)
    fed(monitor, drop, 20)
    assert {r.state for r in fed(monitor, drop, 500, 1e4)} == {DriftState.DRIFTED}
    readings = fed(monitor, expected(5000), 60, 1e5)
    assert readings[0].state is DriftState.DRIFTED
    assert readings[-1].state is DriftState.OK
    assert not monitor.drifted
    assert monitor.alarms == 1


def test_a_drift_that_comes_back_alarms_again() -> None:
    monitor = calibrated()
    for cycle in range(3):
        fed(monitor, expected(5000, factor=0.8), 20, 2000 * cycle)
        fed(monitor, expected(5000), 60, 2000 * cycle + 500)
    assert monitor.alarms == 3


@pytest.mark.parametrize("seen", [NOTHING, None])
def test_silence_is_cannot_tell_and_never_recovered(seen: Window | None) -> None:
    """Neither intervals without drafts nor missing intervals end a drift, and neither keeps it fresh."""
    monitor = calibrated()
    fed(monitor, expected(5000, factor=0.8), 20)
    now = 20 * STEP
    for _ in range(1000):
        now += STEP
        reading = monitor.reading(now) if seen is None else monitor.update(seen, now)
        assert reading.state is not DriftState.OK
    assert reading.state is DriftState.CANNOT_TELL
    assert "no drafts for 10000 s; before that: drifted, acceptance has dropped" in reading.reason
    assert monitor.drifted
    assert monitor.update(expected(5000, factor=0.8), now + STEP).state is DriftState.DRIFTED
    assert monitor.alarms == 1


def test_no_drafts_are_no_evidence() -> None:
    monitor = calibrated()
    fed(monitor, expected(5000, factor=0.96), 5)
    kept = monitor.bank.state()
    fed(monitor, NOTHING, 20, 1000.0)
    assert monitor.bank.state() == kept


def test_accept_makes_the_present_the_new_normal() -> None:
    monitor = calibrated()
    fed(monitor, expected(5000, factor=0.8), 20)
    monitor.accept()
    assert not monitor.drifted
    readings = fed(monitor, expected(5000, factor=0.8), 1500, 1e4)
    assert readings[-1].state is DriftState.OK
    assert readings[-1].baseline_length == pytest.approx(readings[-1].length)
    assert not readings[-1].calibrated


# Whatever comes.


@given(
    st.lists(
        st.tuples(st.floats(0.0, 1e9), st.lists(st.floats(0.0, 1e9), max_size=8), st.floats(0.0, 200.0)),
        max_size=40,
    )
)
def test_nothing_that_an_engine_counts_breaks_it(seen: list[tuple[float, list[float], float]]) -> None:
    monitor, now = DriftMonitor(depth=4), 0.0
    for drafts, accepted, step in seen:
        now += step
        reading = monitor.update(window(drafts, accepted), now)
        assert reading.score is None or (math.isfinite(reading.score) and reading.score >= 0.0)
        assert reading.design is not None
        assert math.isfinite(reading.design)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 29), max_size=30))
def test_duplicate_and_late_intervals_change_nothing(seed: int, late: list[int]) -> None:
    source = random.Random(seed)
    seen = [expected(source.choice((0.0, 50.0, 5000.0)), factor=source.uniform(0.7, 1.1)) for _ in range(30)]
    clean, noisy = calibrated(), calibrated()
    for interval, each in enumerate(seen):
        clean.update(each, STEP * interval)
        noisy.update(each, STEP * interval)
        for again in late:
            if again <= interval:
                noisy.update(seen[again], STEP * again)
    assert noisy.state() == clean.state()
