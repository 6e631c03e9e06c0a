from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from detectors.histories import START, made, without_noise
from specwatch_detectors.calibrate import (
    FAR,
    RAISE,
    CalibrationRefusedError,
    alarm_bound,
    calibrate,
    least_days,
    stream_threshold,
)
from specwatch_detectors.history import EngineChange, History
from specwatch_detectors.model_monitor import ModelMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.profile import Profile, load_profile
from specwatch_detectors.replaying import replay
from specwatch_detectors.threshold import Budget

SETTINGS = MonitorSettings(budget=Budget(interval_s=120.0))


def fitted(history: History, settings: MonitorSettings = SETTINGS) -> Profile:
    return calibrate(history, settings, created=0.0)


def refusal(history: History, settings: MonitorSettings = SETTINGS) -> str:
    with pytest.raises(CalibrationRefusedError) as refused:
        fitted(history, settings)
    assert refused.value.reasons
    return str(refused.value)


@pytest.fixture(scope="module")
def week() -> History:
    return made()


@pytest.fixture(scope="module")
def profile(week: History) -> Profile:
    return fitted(week)


def test_a_quiet_week_gives_every_stream_its_own_calibration(profile: Profile) -> None:
    streams = profile.models["m"].streams
    assert list(streams) == ["", "chat", "code"]
    assert profile.notes == ()
    lengths = {name: stream.baseline.counts.length for name, stream in streams.items()}
    assert lengths["chat"] == pytest.approx(2.15, abs=0.02)
    assert lengths["code"] == pytest.approx(2.99, abs=0.02)
    assert all(0.0 < stream.largest_score < stream.threshold for stream in streams.values())
    assert all(stream.days == pytest.approx(8.0) for stream in streams.values())


def test_the_design_effect_is_that_of_the_traffic(profile: Profile) -> None:
    """Per class 10,000 drafts share a factor of sd 0.02: the accepted mean moves by about sum(j p_j) * 0.02."""
    p = (0.6, 0.6 * 0.58, 0.6 * 0.58 * 0.57)
    slope = sum((j + 1) * value for j, value in enumerate(p))
    variance = sum((2 * j + 1) * value for j, value in enumerate(p)) - sum(p) ** 2
    truth = 10_000 * (slope * 0.02) ** 2 / variance
    assert profile.models["m"].streams["chat"].design == pytest.approx(truth, rel=0.35)


def test_a_profile_replays_its_own_history_without_alarm_and_finds_a_drop(profile: Profile, week: History) -> None:
    calibrations = profile.calibrations("m")
    assert replay(week.models["m"], SETTINGS, calibrations).alarms == []
    stale = made(1.0, factor=lambda day: 0.95 if day > 0.5 else 1.0, seed=5).models["m"]
    alarms = replay(stale, SETTINGS, calibrations).alarms
    assert [alarm.at > START + 43_200.0 for alarm in alarms] == [True]


def test_thresholds_are_those_that_the_monitors_use(profile: Profile, week: History) -> None:
    monitor = ModelMonitor(SETTINGS, depth=3, calibrations=profile.calibrations("m"))
    first = week.models["m"].intervals[0]
    monitor.update(first.total, first.at, first.classes)
    assert monitor.total.state()["threshold"] == pytest.approx(profile.models["m"].streams[""].threshold)
    for name, own in monitor.classes.monitors.items():
        assert own.state()["threshold"] == pytest.approx(stream_threshold(name, SETTINGS))


def step(day: float) -> float:
    return 0.96 if day > 5.0 else 1.0


def incident(day: float) -> float:
    return 0.8 if 4.0 < day < 4.1 else 1.0


def other_mix(day: float) -> float:
    return 0.5 if day < 5.0 else 0.3


CHANGE = START + 3 * 86_400.0


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (lambda: made(0.5), "12.0 hours of history: less than a day says nothing"),
        (lambda: made(6.0), "6.0 days of history; 1 false pages in 30 days need 7 days"),
        (lambda: made(missing=lambda day: day % 1.0 > 0.4), "only 4"),
        (
            lambda: made(changes=[EngineChange(CHANGE, "version", "0.31", "0.32")]),
            "version 0.31 → 0.32 at 2026-03-05 00:00:00",
        ),
        (lambda: made(changes=[EngineChange(CHANGE, "method", "ngram", "eagle3")]), "method ngram → eagle3"),
        (lambda: made(changes=[EngineChange(CHANGE, "K", "3", "5")]), "K 3 → 5"),
        (lambda: made(changes=[EngineChange(CHANGE, "target", "v1", "v2")]), "target v1 → v2"),
        (lambda: made(factor=step), "about 2026-03-07 00:00:00 within class chat: the draft drifted"),
        (lambda: made(factor=step, classes=False), "drift, or a change of mix, which cannot be told apart"),
        (lambda: made(code_share=other_mix, classes=False), "drift, or a change of mix"),
        (lambda: made(factor=incident), "acceptance dropped from 2026-03-06 00:0"),
        (lambda: made(drafts=6.0, spread=0.3), "too few drafts"),
    ],
)
def test_what_cannot_certify_the_budget_is_refused_with_the_reason(
    history: Callable[[], History], words: str
) -> None:
    assert words in refusal(history())


def test_all_reasons_are_given_at_once() -> None:
    text = refusal(made(2.0, missing=lambda day: day % 0.1 > 0.04))
    assert "1.9 days of history" in text
    assert "of the time was observed" in text


def test_restarts_are_no_reason_to_refuse() -> None:
    fitted(made(changes=[EngineChange(CHANGE, "restart", now="counters of a")]))


def test_a_change_of_mix_that_classes_explain_is_noted() -> None:
    found = fitted(made(code_share=other_mix))
    assert list(found.models["m"].streams) == ["chat", "code"]
    assert "by a change of mix: no class moved" in found.notes[0]


def test_a_class_with_too_few_drafts_is_left_to_the_sidecar() -> None:
    found = fitted(made(code_share=lambda _day: 0.0002))
    assert list(found.models["m"].streams) == ["", "chat"]
    assert "class code is left out, the sidecar learns it" in found.notes[0]


def test_a_score_over_the_threshold_that_chance_explains_raises_it() -> None:
    h = stream_threshold("", SETTINGS)
    for length in range(1, 400):
        history = without_noise(7.0, {2_000 + number: 0.97 for number in range(length)})
        if length % 4:
            continue
        try:
            found = fitted(history).models["m"].streams[""]
        except CalibrationRefusedError:
            break
        if found.largest_score >= h:
            assert found.largest_score <= h + math.log(FAR)
            assert found.threshold == pytest.approx(RAISE * found.largest_score)
            assert found.largest_at == history.models["m"].intervals[2_000 + length - 2].at
            return
        assert found.threshold == h
    pytest.fail("no dip was of the right size")


def test_request_records_count_where_they_show_more_spread(week: History) -> None:
    heavy = [(400.0, 900.0 if number % 2 else 150.0) for number in range(200)]
    found = calibrate(week, SETTINGS, created=0.0, requests={"m": {"": heavy}}).models["m"].streams
    assert found[""].design_from == "request records"
    assert found[""].design > 50.0
    assert found["chat"].design_from.startswith("batch means")


def test_smaller_budgets_need_more_days() -> None:
    assert [least_days(pages) for pages in (10.0, 1.0, 0.1, 0.01)] == [7.0, 7.0, 7.0, 30.0]
    tight = replace(SETTINGS, budget=Budget(0.02, 120.0))
    assert "0.02 false pages in 30 days need 15 days" in refusal(made(), tight)


def test_the_rule_of_three() -> None:
    assert alarm_bound(7.0) == pytest.approx(12.86, abs=0.01)
    assert alarm_bound(90.0) == pytest.approx(1.0)


def test_engines_without_positions_are_calibrated_by_their_mean(week: History) -> None:
    own = week.models["m"]
    blind = tuple(
        replace(interval, total=replace(interval.total, accepted=(), trials=()), classes={})
        for interval in own.intervals
    )
    found = fitted(replace(week, models={"m": replace(own, intervals=blind)}))
    assert found.models["m"].streams[""].baseline.q == ()
    assert found.depth("m") == 3


def test_a_saved_profile_is_read_back_whole(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    profile.save(path)
    assert load_profile(path).as_json() == json.loads(path.read_text())
    assert load_profile(path).calibrations("m")["code"].baseline == profile.calibrations("m")["code"].baseline
