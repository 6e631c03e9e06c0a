"""The verdict on one model: drift within classes is paged, a change of mix is shown, silence is neither."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import expected
from detectors.model_traffic import EVEN, EVENTS, QS, STEP, calibrations, fed, mix, model, play, states, whole
from specwatch_detectors.model_monitor import ModelMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.window import NOTHING


def test_traffic_as_before_is_ok() -> None:
    readings = fed(model(), mix(EVEN), 500, 0.0)
    assert states(readings) == {DriftState.OK}
    assert not any(reading.mix_shift for reading in readings)


@pytest.mark.parametrize("code", [0.05, 0.3])
def test_a_change_of_mix_is_shown_and_not_paged(code: float) -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    readings = fed(monitor, mix({"code": code, "chat": 1.0 - code}), 500, 2000.0)
    assert DriftState.DRIFTED not in states(readings)
    last = readings[-1]
    assert last.total.state is DriftState.DRIFTED
    assert last.verdict.state is DriftState.WATCH
    assert last.mix_shift
    assert last.verdict.alarms == 0
    assert last.verdict.reason.startswith("the mix of traffic has changed, no class accepts less")
    back = fed(monitor, mix(EVEN), 200, 9000.0)[-1]
    assert (back.verdict.state, back.mix_shift, back.verdict.alarms) == (DriftState.OK, False, 0)


@pytest.mark.parametrize("code", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("factor", [0.97, 0.9, 0.5])
def test_drift_within_classes_is_paged_whatever_the_mix(code: float, factor: float) -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    readings = fed(monitor, mix({"code": code, "chat": 1.0 - code}, factor), 200, 2000.0)
    last = readings[-1]
    assert last.verdict.state is DriftState.DRIFTED
    assert last.verdict.alarms == 1
    assert not last.mix_shift
    assert "acceptance has dropped" in last.verdict.reason


def test_one_class_alone_is_paged_and_named() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    seen = {**mix(EVEN), "chat": expected(3000, QS["chat"], 0.8)}
    last = fed(monitor, seen, 100, 2000.0)[-1]
    assert last.verdict.state is DriftState.DRIFTED
    assert "(in chat)" in last.verdict.reason
    assert last.verdict.alarms == 1


def test_a_drifted_class_without_traffic_is_not_recovered() -> None:
    monitor = model()
    fed(monitor, {**mix(EVEN), "chat": expected(3000, QS["chat"], 0.8)}, 100, 0.0)
    readings = fed(monitor, mix({"code": 1.0}), 300, 1010.0)
    found = [reading.verdict.state for reading in readings]
    assert found[0] is DriftState.DRIFTED
    assert DriftState.OK not in found
    assert found[-1] is DriftState.WATCH
    assert "chat had drifted and has no traffic now" in readings[-1].verdict.reason
    assert readings[-1].verdict.alarms == 1


def test_without_classes_a_change_of_mix_cannot_be_told_from_drift() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0, labelled=False)
    last = fed(monitor, mix({"code": 0.1, "chat": 0.9}), 100, 2000.0, labelled=False)[-1]
    assert last.verdict.state is DriftState.DRIFTED
    assert not last.mix_shift


def test_classes_that_cover_a_small_part_do_not_clear_the_rest() -> None:
    """A tenth of the traffic carries a class; the drop is in the other nine."""
    monitor, labelled = model(), mix(EVEN, drafts=600)
    rest = whole(mix(EVEN, 0.8, drafts=5400))
    for interval in range(100):
        reading = monitor.update(whole(labelled) + rest, STEP * interval, labelled)
    assert reading.verdict.state is DriftState.DRIFTED


@pytest.mark.parametrize("missing", [False, True])
def test_silence_is_cannot_tell_and_never_recovered(missing: bool) -> None:
    monitor = model()
    before = fed(monitor, mix(EVEN, 0.8), 60, 0.0)[-1]
    assert before.verdict.state is DriftState.DRIFTED
    for interval in range(200):
        now = 1000.0 + STEP * interval
        reading = monitor.reading(now) if missing else monitor.update(NOTHING, now)
        assert reading.verdict.state is not DriftState.OK
    assert reading.verdict.state is DriftState.CANNOT_TELL
    after = fed(monitor, mix(EVEN, 0.8), 3, 9000.0)[-1]
    assert after.verdict.state is DriftState.DRIFTED
    assert after.verdict.alarms == 1


def test_a_bad_deploy_is_one_alarm() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    monitor.changed(Change.DEPLOY)
    readings = fed(monitor, mix(EVEN, 0.85), 100, 2000.0)
    assert readings[-1].verdict.state is DriftState.DRIFTED
    assert readings[-1].verdict.alarms == 1


def test_a_good_deploy_is_none() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    monitor.changed(Change.DEPLOY)
    readings = fed(monitor, mix(EVEN), 100, 2000.0)
    assert states(readings) <= {DriftState.CANNOT_TELL, DriftState.OK}
    assert readings[-1].verdict.state is DriftState.OK


def test_a_profile_never_lowers_the_threshold_of_the_budget() -> None:
    settings = MonitorSettings()
    calibrated = ModelMonitor(settings, depth=2, calibrations=calibrations())
    assert calibrated.total.state()["threshold"] == settings.budget.threshold


@given(st.lists(EVENTS, max_size=8), st.lists(EVENTS, min_size=1, max_size=5))
def test_the_future_after_a_restart_is_the_same(past: list[Any], future: list[Any]) -> None:
    first = model()
    _, now = play(first, past, 0.0)
    second = model(json.loads(json.dumps(first.state())))
    assert second.reading(now) == first.reading(now)
    assert play(second, future, now) == play(first, future, now)


@given(st.lists(EVENTS, min_size=1, max_size=6), st.integers(0, 50))
def test_duplicate_and_late_intervals_change_nothing(events: list[Any], back: int) -> None:
    monitor = model()
    _, now = play(monitor, events, 0.0)
    kept = monitor.state()
    seen = mix(EVEN, 0.5)
    monitor.update(whole(seen), now - STEP, seen)
    monitor.update(whole(seen), now - STEP * (1 + back), seen)
    assert monitor.state() == kept


@pytest.mark.parametrize("state", [{}, {"total": {}}, {"total": None}, []])
def test_a_state_that_is_none_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="not the state of a"):
        model(state)


@pytest.mark.parametrize("change", [Change.RESTART, Change.DEPLOY, Change.VERSION])
@pytest.mark.parametrize("lag", [0, 1, 3])
def test_a_restart_during_a_change_of_mix_is_no_drift(change: Change, lag: int) -> None:
    """After it the classes test their drafts again, and their counts come later than the total's."""
    monitor = model()
    fed(monitor, mix(EVEN), 60, 0.0)
    shifted = mix({"code": 0.05, "chat": 0.95})
    assert fed(monitor, shifted, 60, 600.0)[-1].mix_shift
    monitor.changed(change)
    readings = fed(monitor, {}, 0, 1200.0)
    for interval in range(120):
        classes = {} if interval < lag else shifted
        readings.append(monitor.update(whole(shifted), 1200.0 + STEP * interval, classes))
    assert states(readings) <= {DriftState.OK, DriftState.WATCH}
    assert readings[-1].verdict.alarms == 0
