"""Engines and sidecars come and go: a drift, its beginning and its cause last until something speaks against it."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping

import pytest

from detectors.sidecar_rig import DRAFTS, STEP_S, Q, SidecarRig
from specwatch_detectors import chain
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.profile import ModelProfile, Profile, StreamProfile
from specwatch_detectors.profile_use import ProfileUse

REGRESSION = "the new engine version accepts less"
STALE = "the draft no longer matches the target after a deploy"
NO_DEPLOY = "no deploy, restart or other change"


def drifted(ratio: float, seed: int = 1, *, version: str | None = None) -> SidecarRig:
    """A draft that was good for four hours and is worse since; with a version, since a new engine."""
    rig = SidecarRig(seed)
    rig.run(240)
    rig.ratio = ratio
    if version is not None:
        rig.restart_engine(version)
    rig.until("drifted")
    return rig


@pytest.mark.parametrize("ratio", [0.96, 0.92])
@pytest.mark.parametrize("version", ["0.31.0", "0.30.0"], ids=["upgrade", "restart"])
def test_a_change_that_changes_nothing_neither_ends_a_drift_nor_pages_again_nor_is_blamed(
    ratio: float, version: str
) -> None:
    rig = drifted(ratio)
    before = rig.run(20)
    began = rig.began()
    rig.restart_engine(version)
    rig.seen.clear()
    after = rig.run(60)
    assert {one.state for one in rig.seen} == {"drifted"}
    assert (after.alarms, after.cause) == (1, before.cause)
    assert rig.began() == began
    assert "version" not in after.headline


def test_an_upgrade_that_makes_a_drifted_draft_worse_still_is_blamed() -> None:
    rig = drifted(0.92)
    rig.run(20)
    rig.restart_engine("0.31.0")
    changed, rig.ratio = rig.wall, 0.75
    after = rig.run(10)
    assert "had dropped before and is worse still since a new engine version" in after.headline
    assert (after.state, after.alarms, after.cause) == ("drifted", 1, REGRESSION)
    assert rig.began() == pytest.approx(changed, abs=2.0 * STEP_S)


def test_an_upgrade_that_cures_the_draft_ends_the_drift() -> None:
    rig = drifted(0.92)
    rig.run(20)
    rig.restart_engine("0.31.0")
    rig.ratio = 1.0
    assert rig.until("ok").alarms == 1
    rig.run(60)
    assert {one.state for one in rig.seen[-350:]} == {"ok"}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("ratio", [0.95, 0.9])
def test_a_drift_began_when_it_did_and_not_at_the_last_chance_evidence_before(ratio: float, seed: int) -> None:
    rig = SidecarRig(seed)
    rig.run(240)
    fell, rig.ratio = rig.wall, ratio
    rig.until("drifted")
    assert rig.began() == pytest.approx(fell, abs=45.0)


def test_time_without_drafts_is_no_part_of_a_drift() -> None:
    for seed in range(2):
        rig = SidecarRig(seed)
        rig.run(240)
        rig.drafts = 0
        rig.run(30)
        back, rig.drafts, rig.ratio = rig.wall, DRAFTS, 0.9
        one = rig.until("watch", 5.0)
        assert rig.began(one) >= back - 1.0
        one = rig.until("drifted")
        assert rig.began(one) == pytest.approx(back, abs=30.0)


def test_a_sidecar_that_restarts_keeps_the_cause_and_when_it_was() -> None:
    rig = drifted(0.92, version="0.31.0")
    before, began = rig.run(5), rig.began()
    assert before.cause == REGRESSION
    rig.replace_sidecar()
    first = rig.run(0.5)
    assert (first.state, first.alarms, first.cause) == ("drifted", 1, REGRESSION)
    rig.run(30)
    assert {one.cause for one in rig.seen[-180:]} == {REGRESSION}
    assert not any(NO_DEPLOY in line for one in rig.seen[-180:] for line in one.details)
    assert rig.began() == pytest.approx(began, abs=1.0)


def test_a_cause_that_was_named_stays_when_its_time_is_out_of_sight() -> None:
    rig = drifted(0.9, version="0.31.0")
    assert rig.run(5).cause == REGRESSION
    for _ in range(30):
        rig.restart_engine()
        rig.run(5)
    one = rig.now()
    assert (one.state, one.alarms, one.cause) == ("drifted", 1, REGRESSION)
    assert not any(NO_DEPLOY in line for line in one.details)


def test_a_cause_goes_with_its_drift() -> None:
    rig = drifted(0.9, version="0.31.0")
    assert rig.run(5).cause == REGRESSION
    rig.ratio = 1.0
    rig.until("ok")
    rig.run(60)
    rig.ratio = 0.85
    one = rig.until("drifted")
    assert (one.alarms, one.cause) == (2, "")


def test_what_happened_before_a_sidecar_began_to_watch_is_not_known() -> None:
    rig = SidecarRig(calibrations=lambda _model: {"": calibration(1.0)})
    rig.run(1)
    rig.ratio = 0.85
    rig.until("drifted")
    one = rig.run(2)
    assert not any(NO_DEPLOY in line for line in one.details)
    assert "not known: events around the fall (deploys, restarts, versions)" in one.details


@pytest.mark.parametrize("tells_start", [True, False], ids=["start time", "counters"])
@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "the same"])
def test_an_engine_that_was_replaced_while_the_sidecar_was_away_is_a_restart(
    *, replaced: bool, tells_start: bool
) -> None:
    rig = SidecarRig(tells_start=tells_start)
    rig.run(240)
    rig.watch.close()
    rig.wall += 60.0
    if replaced:
        rig.restart_engine()
        rig.ratio = 0.85
    rig.work(2)
    rig.start_sidecar()
    up = rig.wall
    rig.seen.clear()
    one = rig.run(10)
    tested = any("testing the draft after a restart" in seen.headline for seen in rig.seen)
    assert tested is replaced
    assert one.state == ("drifted" if replaced else "ok")
    if replaced:
        assert one.headline.startswith("acceptance is worse since a restart of the engine")
        assert one.cause == STALE
        assert rig.began() == pytest.approx(up, abs=2.0 * STEP_S)


# Profiles.


def calibration(ratio: float, made: float = 0.0) -> Calibration:
    return Calibration(baseline(ratio), 5.0, 1.0, made)


def baseline(ratio: float) -> Baseline:
    mean = chain.mean_accepted(tuple(ratio * q for q in Q))
    return Baseline.of_mean(mean, len(Q), 1e6)


def profile(ratio: float, created: float, model: str = "m") -> Profile:
    streams = {"": StreamProfile(baseline(ratio), 5.0, "batch means", 13.0)}
    return Profile(STEP_S, 1.0, created, "a file", {model: ModelProfile(len(Q), 0.0, created, streams)})


def baseline_length(rig: SidecarRig) -> float:
    families = {family.name: family for family in rig.watch.families(0.0)}
    return float(families["specwatch_drift_baseline_length_tokens"].samples[0].value)


Known = Callable[[str], Mapping[str, Calibration]]


def restarted_with(rig: SidecarRig, known: Known) -> float:
    """The baseline's length after the next start with this profile."""
    rig.watch.close()
    rig.start_sidecar(known)
    rig.run(1)
    return baseline_length(rig)


def length(ratio: float) -> float:
    return 1.0 + chain.mean_accepted(tuple(ratio * q for q in Q))


def test_a_profile_that_is_newer_than_the_kept_baseline_replaces_it_once(caplog: pytest.LogCaptureFixture) -> None:
    rig = SidecarRig()
    rig.run(60)
    one, two = (ProfileUse(profile(ratio, made)).calibrations for ratio, made in ((1.1, 1.7e9), (1.2, 1.75e9)))
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        assert restarted_with(rig, one) == pytest.approx(length(1.1), rel=1e-3)
        assert restarted_with(rig, one) == pytest.approx(length(1.1), rel=1e-3)
    said = [record.message for record in caplog.records if "kept baseline" in record.message]
    assert said == [
        "m: the drift profile of 2023-11-14 22:13:20 UTC is newer than the kept baseline and replaces it"
    ]
    assert restarted_with(rig, two) == pytest.approx(length(1.2), rel=1e-3)
    assert restarted_with(rig, one) == pytest.approx(length(1.2), rel=1e-3)


def test_what_somebody_accepted_is_replaced_by_later_profiles_only() -> None:
    rig = SidecarRig(calibrations=ProfileUse(profile(1.1, 1.75e9)).calibrations)
    rig.run(1)
    rig.watch.accept()
    rig.run(60)
    learned = baseline_length(rig)
    assert learned == pytest.approx(length(1.0), rel=0.02)
    assert restarted_with(rig, ProfileUse(profile(1.1, 1.75e9)).calibrations) == pytest.approx(learned, rel=0.01)
    later = math.floor(rig.wall) + 5.0
    assert restarted_with(rig, ProfileUse(profile(1.1, later)).calibrations) == pytest.approx(length(1.1), rel=1e-3)
