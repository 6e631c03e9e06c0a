"""A stream over changes of its engine: good deploys are cleared, bad ones called, new ones get a baseline."""

from __future__ import annotations

import pytest

from detectors.drafting import Q, expected, without_positions
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.chain import unconditional
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_detectors.window import NOTHING, Window

STEP = 10.0
SAME_METHOD = [Change.RESTART, Change.DEPLOY, Change.VERSION]


def running(*, positions: bool = True) -> DriftMonitor:
    counts = expected(1e6)
    baseline = Baseline(counts if positions else without_positions(counts))
    monitor = DriftMonitor(depth=3, baseline=baseline, design=5.0, threshold=13.56)
    fed(monitor, seen(positions=positions), 50)
    return monitor


def seen(factor: float = 1.0, *, positions: bool = True, drafts: float = 5000) -> Window:
    found = expected(drafts, factor=factor)
    return found if positions else without_positions(found)


def fed(monitor: DriftMonitor, each: Window, intervals: int) -> list[Reading]:
    start = float(monitor.state()["seen"] or 0.0)
    return [monitor.update(each, start + STEP * (i + 1)) for i in range(intervals)]


@pytest.mark.parametrize("change", SAME_METHOD)
def test_a_bad_deploy_is_called_worse_in_few_intervals(change: Change) -> None:
    monitor = running()
    monitor.changed(change)
    assert monitor.testing_deploy
    readings = fed(monitor, seen(0.88), 10)
    assert readings[-1].state is DriftState.DRIFTED
    assert readings[-1].reason.startswith(f"acceptance is worse since {change.words}: acceptance length 2.1")
    assert monitor.alarms == 1


@pytest.mark.parametrize("change", SAME_METHOD)
def test_a_good_deploy_is_cleared(change: Change) -> None:
    monitor = running()
    monitor.changed(change)
    readings = fed(monitor, seen(drafts=500), 20)
    assert readings[0].state is DriftState.CANNOT_TELL
    assert readings[0].reason.startswith(f"testing the draft after {change.words}")
    assert readings[-1].state is DriftState.OK
    assert monitor.alarms == 0


@pytest.mark.parametrize("drafts", [5000.0, 1e6, 1e9])
def test_a_dead_draft_after_a_deploy_is_called_at_any_volume(drafts: float) -> None:
    monitor = running()
    monitor.changed(Change.DEPLOY)
    assert fed(monitor, seen(0.02, drafts=drafts), 10)[-1].state is DriftState.DRIFTED


def test_engines_without_positions_test_their_deploys_too() -> None:
    for factor, state in ((0.88, DriftState.DRIFTED), (1.0, DriftState.OK)):
        monitor = running(positions=False)
        monitor.changed(Change.RESTART)
        assert monitor.testing_deploy
        assert fed(monitor, seen(factor, positions=False), 20)[-1].state is state


def test_without_positions_another_number_of_draft_tokens_starts_anew() -> None:
    """The mean depends on K: against the old one a good draft would look changed."""
    monitor = running(positions=False)
    monitor.changed(Change.DEPTH)
    assert not monitor.testing_deploy
    assert "learning" in fed(monitor, without_positions(expected(100, Q[:1])), 1)[0].reason


def test_with_positions_another_number_is_tested_on_those_that_both_have() -> None:
    for q in (Q[:1], (*Q, 0.6, 0.6)):
        for factor, state in ((1.0, DriftState.OK), (0.85, DriftState.DRIFTED)):
            monitor = running()
            monitor.changed(Change.DEPTH)
            assert fed(monitor, expected(5000, q, factor), 40)[-1].state is state


def test_another_method_starts_anew() -> None:
    monitor = running()
    monitor.changed(Change.METHOD)
    readings = fed(monitor, seen(0.4), 1)
    assert readings[0].state is DriftState.CANNOT_TELL
    assert readings[0].reason.startswith("learning the baseline")
    assert readings[0].baseline_length == pytest.approx(readings[0].length)


def test_a_change_while_nothing_is_known_yet_starts_anew() -> None:
    monitor = DriftMonitor(depth=3)
    fed(monitor, seen(), 2)
    monitor.changed(Change.DEPLOY)
    assert not monitor.testing_deploy
    assert fed(monitor, seen(0.5), 1)[0].reason == "learning the baseline: 5,000 drafts so far"


def test_an_undecided_deploy_is_watched_on_with_the_evidence_so_far() -> None:
    """About 5 % worse: Wald's test gives up after its limit, the bank does not."""
    monitor = running()
    monitor.changed(Change.DEPLOY)
    small = seen(0.95, drafts=300)
    readings = fed(monitor, small, 61)
    assert not monitor.testing_deploy
    assert readings[-1].state is not DriftState.OK
    fed(monitor, small, 400)
    assert monitor.drifted


def test_intervals_without_drafts_do_not_decide_a_deploy() -> None:
    monitor = running()
    monitor.changed(Change.DEPLOY)
    assert {reading.state for reading in fed(monitor, NOTHING, 200)} == {DriftState.CANNOT_TELL}
    assert monitor.testing_deploy


@pytest.mark.parametrize("factor", [0.85, 0.96])
@pytest.mark.parametrize("change", SAME_METHOD)
def test_a_mere_change_neither_ends_a_drift_nor_becomes_its_cause_nor_counts_again(
    change: Change, factor: float
) -> None:
    monitor = running()
    before = fed(monitor, seen(factor), 60)[-1]
    monitor.changed(change)
    readings = fed(monitor, seen(factor), 200)
    assert {reading.state for reading in readings} == {DriftState.DRIFTED}
    assert (readings[-1].since, readings[-1].alarms) == (before.since, 1)
    assert change.words not in readings[-1].reason


@pytest.mark.parametrize("change", SAME_METHOD)
def test_a_change_that_cures_the_draft_ends_the_drift_within_intervals(change: Change) -> None:
    monitor = running()
    fed(monitor, seen(0.85), 20)
    monitor.changed(change)
    assert fed(monitor, seen(1.0), 10)[-1].state is DriftState.OK
    assert monitor.alarms == 1


@pytest.mark.parametrize("positions", [True, False])
def test_a_change_that_makes_a_drift_worse_still_gets_the_blame_from_then_on(*, positions: bool) -> None:
    monitor = running(positions=positions)
    fed(monitor, seen(0.9, positions=positions), 60)
    at = float(monitor.state()["seen"])
    monitor.changed(Change.VERSION)
    reading = fed(monitor, seen(0.78, positions=positions), 10)[-1]
    assert reading.reason.startswith("acceptance had dropped before and is worse still since a new engine version")
    assert (reading.since, reading.alarms) == (at, 1)
    assert fed(monitor, seen(positions=positions), 60)[-1].state is DriftState.OK


def test_a_change_is_not_blamed_where_nobody_knows_what_was_just_before() -> None:
    monitor = running()
    fed(monitor, seen(0.3, drafts=500), 2)
    assert monitor.drifted
    monitor.changed(Change.VERSION)
    assert not monitor.testing_deploy
    assert "since" not in fed(monitor, seen(0.2), 20)[-1].reason


def test_another_number_of_draft_tokens_is_no_event_where_positions_are_counted() -> None:
    monitor = running()
    before = monitor.state()
    monitor.changed(Change.DEPTH)
    assert monitor.state() == before


def test_the_words_of_a_drift_are_about_what_came_after_its_onset() -> None:
    monitor = running()
    readings = fed(monitor, seen(0.85), 20)
    first = next(reading for reading in readings if reading.state is DriftState.DRIFTED)
    truth = 1.0 + sum(0.85 ** (j + 1) * p for j, p in enumerate(unconditional(Q)))
    assert first.length == pytest.approx(truth, rel=1e-6)
    worse = fed(monitor, seen(0.5), 200)[-1]
    truth = 1.0 + sum(0.5 ** (j + 1) * p for j, p in enumerate(unconditional(Q)))
    assert f"acceptance length {truth:.2f}" in worse.reason


def test_a_clock_that_was_ahead_does_not_blind_a_restored_monitor() -> None:
    monitor = running()
    fed(monitor, seen(1.0), 20)
    again = DriftMonitor(state=monitor.state())
    again.rebase(10.0)
    readings = [again.update(seen(0.4), 10.0 + 10.0 * step) for step in range(1, 20)]
    assert readings[-1].state is DriftState.DRIFTED


def test_a_new_version_gets_a_baseline_of_its_own_beside_the_old() -> None:
    """A deploy that accepts 3 % more is cleared; from then on 3 % less than that is a drift."""
    monitor = running()
    monitor.changed(Change.VERSION)
    before = monitor.bank.baseline
    fed(monitor, seen(1.03), 2000)
    assert monitor.bank.baseline is not before
    assert monitor.bank.baseline.q == pytest.approx(tuple(1.03 * value for value in Q))
    assert monitor.alarms == 0
    assert fed(monitor, seen(1.0), 100)[-1].state is DriftState.DRIFTED


def test_a_step_between_two_versions_is_not_taken_for_spread() -> None:
    """Else every deploy that changes acceptance a little would blunt the detector for weeks."""
    monitor = DriftMonitor(depth=3)
    fed(monitor, seen(), 1500)
    before = monitor.bank.design
    for factor in (1.05, 1.1):
        monitor.changed(Change.DEPLOY)
        fed(monitor, seen(factor), 3000)
        assert monitor.bank.baseline.q == pytest.approx(tuple(factor * value for value in Q))
    assert monitor.bank.design <= 2.0 * before
    assert monitor.alarms == 0
    assert fed(monitor, seen(1.05), 20)[-1].state is DriftState.DRIFTED


def test_a_bad_deploy_is_not_learned_as_the_new_normal() -> None:
    monitor = running()
    before = monitor.bank.baseline
    monitor.changed(Change.DEPLOY)
    readings = fed(monitor, seen(0.88), 3000)
    assert readings[-1].state is DriftState.DRIFTED
    assert monitor.bank.baseline is before


def test_a_restart_keeps_the_baseline() -> None:
    monitor = running()
    before = monitor.bank.baseline
    monitor.changed(Change.RESTART)
    fed(monitor, seen(), 3000)
    assert monitor.bank.baseline is before


@pytest.mark.parametrize("order", [(Change.DEPLOY, Change.RESTART), (Change.RESTART, Change.DEPLOY)])
def test_a_restart_that_comes_with_a_deploy_is_part_of_it(order: tuple[Change, Change]) -> None:
    monitor = running()
    before = monitor.bank.baseline
    for change in order:
        monitor.changed(change)
    assert "after a deploy" in fed(monitor, seen(1.03, drafts=100), 1)[0].reason
    fed(monitor, seen(1.03), 2000)
    assert monitor.bank.baseline is not before


def test_what_a_restarted_engine_does_is_not_learned_before_it_is_tested() -> None:
    """A young baseline, a restart with a worse draft: nothing of it goes into the baseline."""
    monitor = DriftMonitor(depth=3)
    fed(monitor, seen(), 40)
    assert monitor.bank.members
    before = monitor.state()["learning"]
    monitor.changed(Change.RESTART)
    fed(monitor, seen(0.9, drafts=100), 20)
    assert monitor.state()["learning"] == before


def test_drift_soon_after_a_deploy_does_not_go_into_the_new_baseline() -> None:
    monitor = running()
    monitor.changed(Change.DEPLOY)
    fed(monitor, seen(), 30)
    fed(monitor, seen(0.97), 300)
    assert monitor.drifted
    fed(monitor, seen(), 3000)
    assert monitor.bank.baseline.q == pytest.approx(Q, rel=1e-3)
    assert not monitor.drifted
