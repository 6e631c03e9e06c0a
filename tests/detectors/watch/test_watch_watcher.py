from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from detectors.watch.fleet_history import BEGIN, GRID, eventful, new_rounds, plain
from detectors.watch.sample_store import MODEL, FakePod, SampleStore
from specwatch_detectors.watch.file_store import FileStore
from specwatch_detectors.watch.lease import Lease
from specwatch_detectors.watch.readings_json import readings_json
from specwatch_detectors.watch.store import StoreError
from specwatch_detectors.watch.watch_site import watch_site
from specwatch_detectors.watch.watcher import Watcher
from specwatch_exporters import drift_catalog


@pytest.fixture(autouse=True)
def _say_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="specwatch.watch")


class Clock:
    """Time as a test has it."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Scene:
    """A history, a state file, and any number of watches."""

    def __init__(self, folder: Path, store: SampleStore | None = None) -> None:
        self.samples = SampleStore() if store is None else store
        self.file = folder / "state.json"
        self.clock = Clock(BEGIN + 60.0)

    def watcher(self, holder: str = "a", *, kept: bool = True) -> Watcher:
        store = FileStore(self.file) if kept else None
        return Watcher(new_rounds(self.samples), store, holder, self.clock)

    def run(self, *watchers: Watcher, until: float) -> list[dict[str, Any]]:
        """Rounds of all, in turn, every ten seconds; the last round's readings of each."""
        found: list[dict[str, Any]] = [{} for _ in watchers]
        while self.clock.now < BEGIN + until:
            self.clock.now += 10
            for number, watcher in enumerate(watchers):
                found[number] = plain(watcher.round())
                while watcher.behind:
                    found[number] = plain(watcher.round())
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, eventful(0, 900))


def alarms(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "drifted: " in record.getMessage()]


def test_a_change_of_state_is_said_once_with_its_reason(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.run(scene.watcher(), until=880)
    said = [line for line in alarms(caplog) if line.startswith(f"{MODEL}: ")]
    assert len(said) == 1
    assert "acceptance" in said[0]


def test_metrics_are_those_of_the_catalogue(scene: Scene) -> None:
    watcher = scene.watcher()
    scene.run(watcher, until=880)
    registry = CollectorRegistry()
    registry.register(watcher)
    text = generate_latest(registry).decode()
    shown = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    assert shown == {
        drift_catalog.STATE.name,
        drift_catalog.SCORE.name,
        drift_catalog.OVER.name,
        drift_catalog.ALARMS.name,
        drift_catalog.MIX_SHIFT.name,
        drift_catalog.BASELINE.name,
        drift_catalog.DESIGN.name,
        drift_catalog.CALIBRATED.name,
    }
    assert f'specwatch_drift_state{{model="{MODEL}",state="drifted",traffic_class=""}} 1.0' in text


def test_the_site_serves_verdicts(scene: Scene) -> None:
    watcher = scene.watcher()
    site = watch_site(watcher)
    assert site.answer("GET", "/readyz", "").status == 503
    assert site.answer("GET", "/healthz", "").status == 200
    scene.run(watcher, until=880)
    assert site.answer("GET", "/readyz", "").status == 200
    (model,) = json.loads(site.answer("GET", "/status.json", "").body)["models"]
    assert (model["model"], model["state"]) == (MODEL, "drifted")
    assert set(model["classes"]) == {"chat", "code"}
    assert json.loads(readings_json({})) == {"models": []}


@pytest.mark.parametrize("rounds_between", [1, 3, 7])
def test_a_watch_that_is_killed_and_started_again_ends_where_it_would_have(
    scene: Scene, tmp_path: Path, rounds_between: int
) -> None:
    (expected,) = scene.run(scene.watcher(), until=880)
    again = Scene(tmp_path / "..", scene.samples)
    again.file = tmp_path / "again.json"
    found: dict[str, Any] = {}
    for second in range(60 + 10 * rounds_between, 881, 10 * rounds_between):
        watcher = again.watcher()  # as its own successor: the lease is not in question here
        (found,) = again.run(watcher, until=min(second, 880))
    (found,) = again.run(watcher, until=880) if again.clock.now < BEGIN + 880 else (found,)
    assert found == expected


# Prometheus is away.


def test_an_outage_is_cannot_tell_and_then_goes_on(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    steady, shaken = scene.watcher("steady", kept=False), scene.watcher("shaken", kept=False)
    scene.run(steady, shaken, until=300)
    scene.samples.down = "connection refused"
    (away,) = scene.run(shaken, until=700)
    assert {reading[0].state.value for reading in away.values()} == {"cannot_tell"}
    assert shaken.ready() == (False, "no answer from Prometheus: connection refused")
    assert caplog.text.count("no answer from Prometheus: ") == 1
    reasons = [reading[0].reason for reading in away.values()]
    assert all(reason.startswith("no answer from Prometheus for ") for reason in reasons)
    assert not any("no drafts" in reason for reason in reasons)
    scene.samples.down = ""
    back, through = scene.run(shaken, steady, until=880)
    assert back == through
    assert "over: no answer from Prometheus" in caplog.text
    assert shaken.ready()[0]


def test_an_outage_during_drift_is_not_recovery(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    watcher = scene.watcher()
    (before,) = scene.run(watcher, until=880)
    scene.samples.down = "connection refused"
    (away,) = scene.run(watcher, until=2000)
    verdict = away[MODEL][0]
    assert verdict.state.value == "cannot_tell"
    assert "before that: drifted, acceptance has dropped" in verdict.reason
    assert verdict.alarms == before[MODEL][0].alarms
    assert not [line for line in caplog.messages if "-> ok" in line and line.startswith(f"{MODEL}: drifted")]


def test_an_idle_watch_that_hangs_grows_old(scene: Scene) -> None:
    watcher = scene.watcher()
    scene.run(watcher, until=880)
    scene.clock.now += 1000
    assert {reading.verdict.state.value for reading in watcher.readings().values()} == {"cannot_tell"}


# Two watches.


def test_the_second_of_two_watches_stands_by_and_alarms_nobody(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = scene.watcher("first"), scene.watcher("second")
    one, other = scene.run(first, second, until=880)
    assert one[MODEL][0].state.value == "drifted"
    assert other == {}
    assert second.readings() == {}
    ready, why = second.ready()
    assert not ready
    assert "first watches this fleet" in why
    assert caplog.text.count("this one stands by") == 1
    assert len([line for line in alarms(caplog) if line.startswith(f"{MODEL}: ")]) == 1


def test_when_the_first_dies_the_second_goes_on_to_the_same_verdicts(scene: Scene, tmp_path: Path) -> None:
    alone = Scene(tmp_path, scene.samples)
    alone.file = tmp_path / "alone.json"
    (expected,) = alone.run(alone.watcher(), until=880)
    first, second = scene.watcher("first"), scene.watcher("second")
    scene.run(first, second, until=300)
    (found,) = scene.run(second, until=880)
    assert found == expected


def test_when_the_first_stops_the_second_need_not_wait(scene: Scene) -> None:
    first, second = scene.watcher("first"), scene.watcher("second")
    scene.run(first, second, until=200)
    first.close()
    (found,) = scene.run(second, until=210)
    assert set(found) == {MODEL}


def test_a_watch_that_was_held_up_finds_out_before_it_alarms(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = scene.watcher("first"), scene.watcher("second")
    scene.run(first, second, until=300)
    scene.run(second, until=880)  # the first is frozen meanwhile
    before = len(alarms(caplog))
    late, still = scene.run(first, second, until=890)
    assert late == {}
    assert set(still) == {MODEL}
    assert len(alarms(caplog)) == before
    assert "second has taken over" in caplog.text
    first.close()
    assert json.loads(scene.file.read_text())["lease"]["holder"] == "second"


# The store fails.


class FailingStore:
    """A store that fails when it is told to."""

    def __init__(self, inner: FileStore) -> None:
        self.inner = inner
        self.load_fails = self.save_fails = False

    def load(self) -> Any:
        if self.load_fails:
            raise StoreError("cannot be read")
        return self.inner.load()

    def save(self, state: Mapping[str, Any], lease: Lease, over: Lease | None = None) -> None:
        if self.save_fails:
            raise StoreError("disk full")
        self.inner.save(state, lease, over)


def test_a_store_that_cannot_be_written_does_not_stop_the_watch(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    store = FailingStore(FileStore(scene.file))
    watcher = Watcher(new_rounds(scene.samples), store, "a", scene.clock)
    scene.run(watcher, until=200)
    store.save_fails = True
    (found,) = scene.run(watcher, until=880)
    assert found[MODEL][0].state.value == "drifted"
    assert alarms(caplog)
    assert caplog.text.count("disk full") == 1
    assert watcher.ready() == (False, "the state cannot be kept: disk full")
    store.save_fails = False
    scene.run(watcher, until=920)
    assert watcher.ready()[0]
    watcher.close()
    assert json.loads(scene.file.read_text())["lease"]["holder"] == ""


def test_a_store_that_cannot_be_read_is_tried_again(scene: Scene) -> None:
    store = FailingStore(FileStore(scene.file))
    store.load_fails = True
    watcher = Watcher(new_rounds(scene.samples), store, "a", scene.clock)
    assert scene.run(watcher, until=100) == [{}]
    assert not watcher.ready()[0]
    store.load_fails = False
    (found,) = scene.run(watcher, until=200)
    assert set(found) == {MODEL}


def test_closing_with_a_full_disk_is_only_said(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    store = FailingStore(FileStore(scene.file))
    watcher = Watcher(new_rounds(scene.samples), store, "a", scene.clock)
    scene.run(watcher, until=100)
    store.save_fails = True
    watcher.close()
    assert "disk full" in caplog.text


# The loop.


class Impatient(threading.Event):
    """An event that nobody waits for."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        assert timeout <= GRID.interval_s
        return self.is_set()


def test_the_loop_survives_an_error_of_its_own_and_stops_when_told(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    stop = Impatient()
    watcher = scene.watcher()
    rounds = 0

    def failing(_: object) -> Any:
        nonlocal rounds
        rounds += 1
        scene.clock.now += 100
        if rounds == 3:
            stop.set()
        raise RuntimeError("a fault")

    watcher._new_rounds = failing
    watcher.run(stop, GRID)
    assert rounds == 3
    assert caplog.text.count("internal error") == 1
    assert watcher.ready() == (False, "internal error; the log says more")


def test_readers_do_not_wait_for_a_round(scene: Scene) -> None:
    watcher = scene.watcher()
    (expected,) = scene.run(watcher, until=200)
    inside, go = threading.Event(), threading.Event()
    fetch: Callable[..., Any] = scene.samples.fetch

    def slow(*arguments: Any) -> Any:
        inside.set()
        go.wait(30)
        return fetch(*arguments)

    scene.samples.fetch = slow  # type: ignore[method-assign,assignment]
    scene.clock.now += 10
    thread = threading.Thread(target=watcher.round)
    thread.start()
    assert inside.wait(30)
    assert plain(watcher.readings()) == expected
    go.set()
    thread.join()


def test_two_models_have_a_line_each(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(tmp_path)
    pod = FakePod(scene.samples, "a")
    for second in range(0, 300, 10):
        pod.work(100)
        for name in ("one", "two"):
            pod.scrape(BEGIN + second + 1, model=name)
    scene.run(scene.watcher(), until=290)
    assert len([line for line in caplog.messages if line.startswith(("one: cannot", "two: cannot"))]) == 2
