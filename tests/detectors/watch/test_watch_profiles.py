"""The fleet watch goes on from a kept state, and a profile that is newer than its baselines replaces them."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from detectors.watch.fleet_history import BEGIN, SETTINGS, catch_up, new_rounds, reloaded
from detectors.watch.sample_store import MODEL, FakePod, SampleStore
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.profile import ModelProfile, Profile, StreamProfile
from specwatch_detectors.watch.rounds import Rounds
from specwatch_detectors.watch.watcher import NewRounds
from specwatch_detectors.window import Window

END = BEGIN + 300


@pytest.fixture
def store() -> SampleStore:
    found = SampleStore()
    pod = FakePod(found, "a")
    for second in range(0, END - BEGIN, 10):
        pod.work(5000)
        pod.scrape(BEGIN + second + 1.0)
    return found


def profiled(store: SampleStore, folder: Path, share: float, created: float, model: str = MODEL) -> NewRounds:
    """Watches with a profile in which each position accepts this share."""
    counts = Window(1e6, (1e6 * share, 1e6 * share**2), (1e6, 1e6 * share), 1e6 * (share + share**2))
    stream = StreamProfile(Baseline(counts), 5.0, "batch means", 13.0)
    path = folder / f"{created:.0f}.json"
    Profile(10.0, 1.0, created, "a test", {model: ModelProfile(2, 0.0, 1.0, {"": stream})}).save(path)
    return new_rounds(store, replace(SETTINGS, profile=path))


def baseline(rounds: Rounds) -> float:
    """Acceptance length of the baseline, a tick later."""
    length = catch_up(rounds, END)[MODEL].total.baseline_length
    assert length is not None
    return length


def test_a_newer_profile_replaces_the_kept_baseline_once(
    store: SampleStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = new_rounds(store)(None)
    catch_up(rounds, BEGIN + 200)
    one, two = profiled(store, tmp_path, 0.8, 1.7e9), profiled(store, tmp_path, 0.9, 1.75e9)
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        rounds = reloaded(rounds, one)
        assert baseline(rounds) == pytest.approx(2.44)
        assert baseline(reloaded(rounds, one)) == pytest.approx(2.44)
    said = [record.message for record in caplog.records]
    assert said == [
        "llama: the drift profile of 2023-11-14 22:13:20 UTC is newer than the kept baseline and replaces it"
    ]
    newer = reloaded(rounds, two)
    assert baseline(newer) == pytest.approx(2.71)
    assert baseline(reloaded(newer, one)) == pytest.approx(2.71)


def test_a_profile_from_the_beginning_is_gone_on_from(store: SampleStore, tmp_path: Path) -> None:
    make = profiled(store, tmp_path, 0.9, 1.7e9)
    rounds = make(None)
    catch_up(rounds, BEGIN + 200)
    assert rounds.readings(BEGIN + 200)[MODEL].total.score
    assert reloaded(rounds, make).readings(BEGIN + 200) == rounds.readings(BEGIN + 200)


def test_what_somebody_accepted_is_replaced_by_later_profiles_only(store: SampleStore, tmp_path: Path) -> None:
    make = profiled(store, tmp_path, 0.9, BEGIN - 60.0)
    rounds = make(None)
    catch_up(rounds, BEGIN + 100)
    rounds.fleet.accept()
    catch_up(rounds, BEGIN + 200)
    kept = reloaded(rounds, make)
    assert baseline(kept) == pytest.approx(2.19, abs=0.02)
    later = profiled(store, tmp_path, 0.9, BEGIN + 200.0)
    assert baseline(reloaded(kept, later)) == pytest.approx(2.71)


def test_a_profile_of_another_model_is_said_once(
    store: SampleStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "specwatch.drift"):
        rounds = profiled(store, tmp_path, 0.9, 1.7e9, "qwen")(None)
        assert baseline(rounds) == pytest.approx(2.19, abs=0.02)
    assert [record.message for record in caplog.records] == [
        "llama: the drift profile is of qwen, not of llama, whose baseline is learned here"
    ]
