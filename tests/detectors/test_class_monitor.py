"""The classes of one model: joined as they ripen, judged together without their mix, and one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from detectors.drafting import expected
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.class_monitor import MAX_CLASSES, ClassMonitor
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.window import Window
from specwatch_exporters.classes.class_name import OTHER

STEP = 10.0
QS = {"code": (0.8, 0.8), "chat": (0.55, 0.5), "math": (0.7, 0.7)}


def known(name: str, settings: MonitorSettings) -> DriftMonitor:
    if name not in QS:
        return DriftMonitor(settings, depth=2)
    return DriftMonitor(settings, depth=2, baseline=Baseline(expected(1e7, QS[name])), design=5.0)


def classes(state: Mapping[str, Any] | None = None) -> ClassMonitor:
    return ClassMonitor(MonitorSettings(), known, state)


def mix(factors: Mapping[str, float] | float = 1.0, drafts: float = 3000, **shares: float) -> dict[str, Window]:
    weights = shares or dict.fromkeys(QS, 1.0 / 3.0)
    each = {name: factors if isinstance(factors, float) else factors.get(name, 1.0) for name in weights}
    return {name: expected(drafts * share, QS[name], each[name]) for name, share in weights.items()}


def fed(monitor: ClassMonitor, seen: dict[str, Window], intervals: int, start: float = 0.0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for interval in range(intervals):
        found = dict(monitor.update(seen, start + STEP * interval))
    return found


@pytest.mark.parametrize("shares", [{"code": 1.0}, {"code": 0.06, "chat": 0.94}, {"chat": 1.0}])
def test_whatever_the_mix_classes_as_before_are_no_drift(shares: dict[str, float]) -> None:
    monitor = classes()
    fed(monitor, mix(), 50)
    fed(monitor, mix(**shares), 1000, 1000.0)
    assert not monitor.drifted
    assert monitor.drifted_classes(11_000.0) == []
    assert monitor.alarms == 0
    assert monitor.score == 0.0


def test_a_small_drop_of_all_classes_is_found_together_before_it_is_found_in_any() -> None:
    monitor, interval = classes(), 0
    while not monitor.drifted and interval < 500:
        monitor.update(mix(0.97), STEP * interval)
        interval += 1
    assert monitor.drifted
    assert monitor.drifted_classes(STEP * interval) == []
    assert monitor.alarms == 1


def test_a_drop_of_one_small_class_is_found_in_it() -> None:
    monitor = classes()
    readings = fed(monitor, mix({"math": 0.6}, code=0.48, chat=0.48, math=0.04), 200)
    assert monitor.drifted_classes(200 * STEP) == ["math"]
    assert readings["math"].state is DriftState.DRIFTED
    assert readings["code"].state is DriftState.OK


def test_a_class_without_traffic_for_a_week_gives_its_place_to_a_new_one() -> None:
    monitor = classes()
    for n in range(MAX_CLASSES):
        monitor.update({f"old {n}": expected(100, QS["code"])}, 10.0 * (n + 1))
    monitor.update({"new": expected(100, QS["code"])}, 1000.0)
    assert "new" not in monitor.monitors
    monitor.update({"new": expected(100, QS["code"])}, 8 * 86_400.0)
    assert "new" in monitor.monitors
    assert "old 0" not in monitor.monitors
    assert len(monitor.monitors) == MAX_CLASSES


def test_a_class_that_has_drifted_and_gone_silent_is_not_recovered_and_no_page_for_ever() -> None:
    monitor = classes()
    fed(monitor, mix({"math": 0.6}), 50)
    readings = fed(monitor, mix(code=0.5, chat=0.5), 500, 1000.0)
    assert monitor.drifted_classes(1000.0) == ["math"]
    assert monitor.drifted_classes(6000.0) == []
    assert monitor.monitors["math"].drifted
    assert readings["math"].state is DriftState.CANNOT_TELL
    assert "before that: drifted" in readings["math"].reason


def test_the_drift_of_all_ends_on_evidence() -> None:
    monitor = classes()
    fed(monitor, mix(0.9), 50)
    assert monitor.drifted
    fed(monitor, {}, 100, 1000.0)
    assert monitor.drifted
    fed(monitor, mix(0.97), 100, 3000.0)
    assert monitor.drifted
    fed(monitor, mix(1.0), 100, 9000.0)
    assert not monitor.drifted


def test_a_class_joins_once_its_baseline_is_good_enough() -> None:
    monitor, poetry = classes(), {"poetry": expected(20_000, (0.6, 0.6))}
    fed(monitor, {**mix(), **poetry}, 5)
    assert monitor.coverage == pytest.approx(3000 / 23_000)
    fed(monitor, {**mix(), **poetry}, 1000, 1000.0)
    assert monitor.coverage == pytest.approx(1.0)


def test_traffic_without_a_class_is_not_covered() -> None:
    monitor = classes()
    for interval in range(300):
        monitor.update(mix(drafts=3000), STEP * interval, drafts=10_000)
    assert monitor.coverage == pytest.approx(0.3)


def test_coverage_is_a_share_even_where_classes_report_late() -> None:
    monitor = classes()
    assert monitor.coverage == 0.0
    monitor.update(mix(), 0.0, drafts=10.0)
    assert monitor.coverage == 1.0


def test_only_so_many_classes_are_watched() -> None:
    monitor = classes()
    seen = {f"class{number:02}": expected(1000, (0.6, 0.6)) for number in range(MAX_CLASSES + 20)}
    readings = fed(monitor, seen, 3)
    assert len(monitor.monitors) == len(readings) == MAX_CLASSES
    fed(monitor, {"late": expected(1000)}, 3, 1000.0)
    assert "late" not in monitor.monitors
    assert len(json.dumps(monitor.state()["drafts"])) < 1000


@pytest.mark.parametrize("change", [Change.DEPLOY, Change.RESTART, Change.VERSION])
def test_a_change_of_the_engine_tests_every_class_and_forgets_the_evidence(change: Change) -> None:
    monitor = classes()
    monitor.update(mix(0.8), 0.0)
    assert (monitor.score or 0.0) > 0.0
    monitor.changed(change)
    assert all(own.testing_deploy for own in monitor.monitors.values())
    monitor.update(mix(1.0, drafts=30), 1e4)
    assert monitor.score == 0.0
    assert monitor.coverage == pytest.approx(1.0)
    fed(monitor, mix(), 50, 2e4)
    assert not any(own.testing_deploy for own in monitor.monitors.values())
    assert not monitor.drifted
    fed(monitor, mix(0.9), 50, 3e4)
    assert monitor.drifted


@pytest.mark.parametrize("change", [Change.DEPLOY, Change.RESTART, Change.VERSION])
def test_a_change_of_the_engine_alone_ends_no_drift(change: Change) -> None:
    monitor = classes()
    fed(monitor, mix(0.9), 50)
    monitor.changed(change)
    assert monitor.drifted
    fed(monitor, mix(0.9), 100, 1e4)
    assert (monitor.drifted, monitor.alarms) == (True, 1)
    fed(monitor, mix(), 100, 2e4)
    assert not monitor.drifted


def test_what_has_no_class_of_its_own_is_not_judged_and_is_traffic() -> None:
    """A new kind of request among `other` is no drift of `other`."""
    monitor = classes()
    readings = fed(monitor, {**mix(drafts=3000), OTHER: expected(1000, (0.5, 0.5))}, 300)
    assert OTHER not in readings
    assert monitor.coverage == pytest.approx(0.75)
    fed(monitor, {**mix(drafts=3000), OTHER: expected(1000, (0.2, 0.2))}, 300, 1e4)
    assert not monitor.drifted


def test_a_bad_deploy_is_seen_in_all_classes_together_before_any_of_them_can_tell() -> None:
    monitor = classes()
    monitor.changed(Change.VERSION)
    for interval in range(200):
        monitor.update(mix(0.93, drafts=300), 1e4 + STEP * interval)
        if monitor.drifted:
            break
    assert monitor.drifted
    assert not any(own.drifted for own in monitor.monitors.values())


@pytest.mark.parametrize("factor", [0.8, 0.97, 1.0])
def test_it_goes_on_from_its_state(factor: float) -> None:
    first = classes()
    fed(first, {**mix(), "poetry": expected(5000, (0.6, 0.6))}, 150)
    fed(first, mix(factor), 15, 2000.0)
    second = classes(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()
    for interval in range(200):
        now = 3000.0 + STEP * interval
        seen = {**mix(1.0 if interval > 60 else factor), "poetry": expected(5000, (0.6, 0.6))}
        assert second.update(seen, now) == first.update(seen, now)
        assert (second.score, second.drifted, second.coverage) == (first.score, first.drifted, first.coverage)
    assert second.state() == first.state()


def test_a_restart_that_cures_every_class_ends_the_common_drift_too() -> None:
    monitor = classes()
    fed(monitor, mix(0.8), 60)
    assert monitor.state()["drifted"]
    monitor.changed(Change.RESTART)
    assert monitor.state()["drifted"]
    fed(monitor, mix(), 40, 1000.0)
    assert not monitor.state()["drifted"]
    assert monitor.alarms == 1


def test_a_restart_that_cures_nothing_leaves_the_common_drift() -> None:
    monitor = classes()
    fed(monitor, mix(0.8), 60)
    monitor.changed(Change.RESTART)
    fed(monitor, mix(0.8), 40, 1000.0)
    assert monitor.state()["drifted"]
    assert monitor.alarms == 1


def test_what_is_as_before_is_traffic_of_classes_that_judge_and_nothing_while_a_drift_lasts() -> None:
    monitor = classes()
    assert monitor.as_before == 0.0
    fed(monitor, mix(), 50)
    assert monitor.as_before == 1.0
    fed(monitor, {**mix(drafts=2250), "agent": expected(750, (0.3, 0.3))}, 3, 1000.0)
    assert 0.9 < monitor.as_before < 1.0
    fed(monitor, mix({"math": 0.6}), 100, 2000.0)
    assert monitor.as_before == 0.0
    fed(monitor, mix(code=0.5, chat=0.5), 400, 4000.0)  # math sends nothing
    assert monitor.state()["drifted"] is False
    assert monitor.as_before == 0.0
    fed(monitor, mix(), 400, 9000.0)
    assert monitor.as_before == pytest.approx(1.0, abs=1e-3)
    monitor.changed(Change.RESTART)
    assert monitor.as_before == 0.0
    fed(monitor, mix(), 60, 14_000.0)
    assert monitor.as_before == pytest.approx(1.0, abs=1e-3)
    interval = 0
    while not monitor.drifted and interval < 500:
        monitor.update(mix(0.97), 15_000.0 + STEP * interval)
        interval += 1
    assert monitor.drifted
    assert monitor.drifted_classes(15_000.0 + STEP * interval) == []
    assert monitor.as_before == 0.0
