from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from detectors.histories import START, made
from specwatch_detectors.example_history import Example, Kind
from specwatch_detectors.explain.explanation import Outcome
from specwatch_detectors.history import EngineChange, ModelHistory
from specwatch_detectors.history_csv import read_csv
from specwatch_detectors.model_monitor import ModelMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import DriftState
from specwatch_detectors.replay_cause import cause_of
from specwatch_detectors.replaying import Replayed, replay
from specwatch_detectors.score_picture import draw
from specwatch_detectors.threshold import Budget

SETTINGS = MonitorSettings(budget=Budget(interval_s=10.0))
EXAMPLE = Example(Kind.STALE_DRAFT)


def example(kind: Kind) -> ModelHistory:
    (model,) = read_csv(Example(kind).lines(), f"{kind}.csv").models.values()
    return model


@pytest.fixture(scope="module")
def stale() -> Replayed:
    return replay(example(Kind.STALE_DRAFT), SETTINGS)


@pytest.fixture(scope="module")
def shifted() -> Replayed:
    return replay(example(Kind.MIX_SHIFT), SETTINGS)


def test_a_stale_draft_is_alarmed_within_minutes_and_named(stale: Replayed) -> None:
    (alarm,) = stale.alarms
    assert 0.0 < alarm.at - EXAMPLE.change_at <= 300.0
    assert alarm.since == EXAMPLE.change_at
    assert alarm.change is not None
    assert alarm.change.words == "target 70b-v1 → 70b-v2"
    assert stale.points[-1].state is DriftState.DRIFTED
    assert stale.recoveries == []
    cause = cause_of(stale, alarm)
    assert cause.outcome is Outcome.NAMED
    assert "no longer matches the target after a deploy" in cause.headline


def test_an_alarm_in_a_class_quotes_the_numbers_of_that_class(stale: Replayed) -> None:
    (alarm,) = stale.alarms
    (name,) = alarm.classes
    reading = stale.monitor.reading(stale.points[-1].at)
    own, total = reading.classes[name].baseline_length, reading.total.baseline_length
    assert own is not None
    assert total is not None
    assert f"baseline {own:.2f}" in alarm.reason
    assert f"baseline {total:.2f}" not in alarm.reason


def test_without_the_deploy_event_the_bank_alarms_and_says_how_fast_it_could_be() -> None:
    blind = replace(example(Kind.STALE_DRAFT), changes=(), facts=frozenset())
    (alarm,) = replay(blind, SETTINGS).alarms
    assert 0.0 < alarm.at - EXAMPLE.change_at <= 900.0
    assert alarm.bound_intervals is not None
    assert alarm.bound_intervals >= 1.0


def test_a_shift_of_the_mix_is_noticed_once_and_never_alarmed(shifted: Replayed) -> None:
    assert shifted.alarms == []
    (shift,) = shifted.mix_shifts
    assert shift.at > EXAMPLE.change_at
    assert shifted.points[-1].mix_shift
    cause = cause_of(shifted, shift)
    assert "mix of traffic" in cause.headline


def test_a_proven_shift_survives_a_restart_of_the_monitor(shifted: Replayed) -> None:
    again = ModelMonitor(SETTINGS, depth=3, state=shifted.monitor.state())
    assert again.state() == shifted.monitor.state()
    reading = again.reading(shifted.points[-1].at)
    assert (reading.mix_shift, reading.verdict.state) == (True, DriftState.WATCH)


def test_a_proven_shift_survives_a_silent_night(shifted: Replayed) -> None:
    again = ModelMonitor(SETTINGS, depth=3, state=shifted.monitor.state())
    last = shifted.history.intervals[-1]
    for number, interval in enumerate(shifted.history.intervals[-60:]):
        reading = again.update(interval.total, last.at + 36_000.0 + 10.0 * number, interval.classes)
        assert reading.verdict.state is not DriftState.DRIFTED
    assert again.alarms == 0


def test_quiet_traffic_is_learned_and_stays_quiet() -> None:
    found = replay(example(Kind.QUIET), SETTINGS)
    assert (found.alarms, found.mix_shifts, found.recoveries) == ([], [], [])
    assert found.learned_s is not None
    assert {point.state for point in found.points[-100:]} == {DriftState.OK}


def test_a_drift_that_ends_is_a_recovery() -> None:
    history = made(2.0, factor=lambda day: 0.9 if 1.0 < day < 1.2 else 1.0).models["m"]
    found = replay(history, MonitorSettings(budget=Budget(interval_s=120.0)))
    assert [round((alarm.at - START) / 86_400.0, 1) for alarm in found.alarms] == [1.0]
    assert [round((at - START) / 86_400.0, 1) for at in found.recoveries] == [1.2]


def test_a_restart_of_one_pod_of_many_starts_no_deploy_test() -> None:
    change = EngineChange(START + 43_200.0, "restart", now="counters of a")
    history = made(1.0, changes=[change], factor=lambda day: 0.9 if day >= 0.5 else 1.0).models["m"]
    settings = MonitorSettings(budget=Budget(interval_s=120.0))
    one, many = (replay(replace(history, instances=count), settings) for count in (1, 9))
    assert [("since a restart" in found.alarms[0].reason) for found in (one, many)] == [True, False]


def test_the_picture_is_a_png_and_no_half_file_stays(stale: Replayed, shifted: Replayed, tmp_path: Path) -> None:
    for name, found in (("stale", stale), ("mix", shifted)):
        path = tmp_path / f"{name}.png"
        draw(found, path, title=name, change_at=EXAMPLE.change_at)
        assert path.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mix.png", "stale.png"]
    with pytest.raises(OSError, match="missing"):
        draw(stale, tmp_path / "missing" / "x.png", title="x")


@pytest.mark.parametrize(("model", "drafts"), [("m", "1e300"), ("n" * 900, "100"), ("$x_{$ 模型", "100")])
def test_the_picture_is_drawn_without_a_warning_whatever_its_words(model: str, drafts: str, tmp_path: Path) -> None:
    lines = ["time,model,version,drafts,accepted_1"]
    lines += [f"{at},{model},{model}{at // 30},{drafts},50" for at in (10, 20, 30, 40)]
    found = replay(read_csv(lines, "x.csv").models[model], SETTINGS)
    assert len(found.drafts_words) < 10
    draw(found, tmp_path / "x.png", title=model)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_examples_are_the_same_for_the_same_seed() -> None:
    first, again = (list(Example(Kind.QUIET, hours=0.5).lines()) for _ in range(2))
    assert first == again
    assert list(Example(Kind.QUIET, hours=0.5, seed=2).lines())[2:] != first[2:]
    assert first[0].startswith("# Synthetic traffic, no measurement")
