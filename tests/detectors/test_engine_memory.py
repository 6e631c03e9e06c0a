"""What a sidecar keeps of an engine: its events, its processes, the words for its drift, whose profile it has."""

from __future__ import annotations

import json
import logging
import math

import pytest

from detectors.interval_of import interval
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.change_watch import ChangeWatch
from specwatch_detectors.engine_events import MAX_EVENTS, EngineEvents
from specwatch_detectors.engine_life import EngineLife, life_of
from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.profile import ModelProfile, Profile, StreamProfile
from specwatch_detectors.profile_use import ProfileUse
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.sidecar_words import Account, Words
from specwatch_exporters.sidecar.status_drift import drift_card


def test_events_are_kept_with_their_times_and_what_fell_out_is_not_known_any_more() -> None:
    events = EngineEvents()
    events.begin(100.0)
    events.note(Change.VERSION)
    assert events.listed() == []
    events.date(110.0)
    events.note(Change.RESTART)
    again = EngineEvents.restored(json.loads(json.dumps(events.state())))
    again.date(120.0)
    assert [(event.kind.value, event.time) for event in again.listed()] == [("version", 110.0), ("restart", 120.0)]
    assert again.watched_since == 100.0
    for step in range(MAX_EVENTS):
        again.note(Change.RESTART)
        again.date(200.0 + step)
    assert len(again.listed()) == MAX_EVENTS
    assert again.watched_since == 120.0


def test_events_of_a_clock_that_was_ahead_are_of_now() -> None:
    events = EngineEvents()
    events.begin(1000.0)
    events.note(Change.RESTART)
    events.date(1010.0)
    events.begin(50.0)
    assert (events.watched_since, events.listed()[0].time) == (50.0, 50.0)
    assert math.isfinite(EngineEvents.restored(events.state()).watched_since)


@pytest.mark.parametrize(
    ("before", "after", "replaced"),
    [
        ({"starts": {"": 100.0}}, {"starts": {"": 100.5}}, False),
        ({"starts": {"": 100.0}}, {"starts": {"": 160.0}}, True),
        ({"starts": {"": 160.0}}, {"starts": {"": 100.0}}, False),
        ({"starts": {"a": 100.0}}, {"starts": {"b": 160.0}}, False),
        ({"counted": {"0": 50.0, "1": 50.0}}, {"counted": {"0": 60.0, "1": 10.0}}, True),
        ({"counted": {"0": 50.0}}, {"counted": {"0": 60.0, "1": 10.0}}, False),
        ({}, {"starts": {"": 160.0}, "counted": {"0": 1.0}}, False),
    ],
)
def test_an_engine_that_started_later_or_counts_less_is_another_process(
    before: dict[str, dict[str, float]], after: dict[str, dict[str, float]], replaced: bool
) -> None:
    kept = EngineLife.restored(json.loads(json.dumps(EngineLife(**before).state())))
    assert EngineLife(**after).began_after(kept) is replaced


def test_a_replaced_engine_is_a_restart_once_and_only_after_the_watch_was_away() -> None:
    one, two = EngineLife({"": 100.0}), EngineLife({"": 200.0})
    report = interval(0.0).reports[0]
    watch = ChangeWatch()
    for life in (one, two):  # the scraper itself tells of a restart that it sees
        assert watch.take(report, "1", 0.0, restarted=False, life=life) == []
    again = ChangeWatch.restored(json.loads(json.dumps(watch.state())))
    assert again.take(report, "1", 0.0, restarted=False) == []
    later = EngineLife({"": 300.0})
    assert again.take(report, "2", 0.0, restarted=True, life=later) == [Change.RESTART, Change.VERSION]
    assert again.take(report, "2", 0.0, restarted=False, life=later) == []


def test_signs_of_life_are_those_of_the_model() -> None:
    assert life_of(interval(0.0, 10.0, (5.0,)), "m") == EngineLife()


def reading(state: DriftState, *, since: float | None = 10.0, alarms: int = 1, mix: bool = False) -> ModelReading:
    verdict = Reading(state, "because", alarms=alarms, since=since)
    return ModelReading(verdict, verdict, mix_shift=mix)


DRIFTED = reading(DriftState.DRIFTED)
NAMED = Words("a cause", ("for: something",), ("look",))


@pytest.mark.parametrize(
    ("later", "kept"),
    [
        (DRIFTED, True),
        (reading(DriftState.DRIFTED, since=5.0), True),
        (reading(DriftState.DRIFTED, since=500.0), False),
        (reading(DriftState.DRIFTED, alarms=2), False),
        (reading(DriftState.WATCH, mix=True), False),
        (reading(DriftState.OK, since=None), False),
        (reading(DriftState.CANNOT_TELL, since=None), True),
    ],
)
def test_words_last_as_long_as_the_drift_over_silence_and_restarts(later: ModelReading, *, kept: bool) -> None:
    account = Account()
    account.take(NAMED, DRIFTED, 0, 20.0)
    account = Account.restored(json.loads(json.dumps(account.state())))
    assert account.shown(DRIFTED) == NAMED
    account.follow(later)
    assert account.words == (NAMED if kept else None)
    assert account.shown(reading(DriftState.CANNOT_TELL, since=None)) is None


def profile(*models: str) -> Profile:
    counts = Baseline.of_mean(1.5, 3, 1e6)
    own = ModelProfile(3, 0.0, 1.0, {"": StreamProfile(counts, 5.0, "batch means", 13.0)})
    return Profile(10.0, 1.0, 1.7e9, "a file", dict.fromkeys(models, own))


def test_a_profile_of_another_model_is_said_in_the_log_and_on_the_status_page(
    caplog: pytest.LogCaptureFixture,
) -> None:
    use = ProfileUse(profile("llama"))
    watch = SidecarWatch(MonitorSettings(), calibrations=use.calibrations, remark=use.remark)
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        watch.take(interval(0.0, first=True))
        watch.take(interval(10.0, 100.0, (50.0, 20.0, 10.0)))
    line = "the drift profile is of llama, not of m, whose baseline is learned here"
    assert caplog.messages == [f"m: {line}"]
    assert watch.judgements(10.0)[0].remarks == (line,)
    assert line[1:] in drift_card(watch.judgements(10.0))
    assert use.remark("llama") == ""
    assert "a, b, c and 2 more" in ProfileUse(profile(*"edcba")).remark("m")
