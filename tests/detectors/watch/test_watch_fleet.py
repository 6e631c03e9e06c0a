from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from detectors.watch.fleet_history import BEGIN
from detectors.watch.recording_monitor import RecordingMonitor
from detectors.watch.sample_store import MODEL, FakePod, SampleStore, scrape_requests
from specwatch_detectors.model_monitor import ModelMonitor
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.watch import fleet as fleet_module
from specwatch_detectors.watch.counter_book import Span
from specwatch_detectors.watch.fleet import FORGET_S, Fleet
from specwatch_detectors.watch.pod_labels import PodLabels
from specwatch_detectors.watch.source import SourceError
from specwatch_detectors.window import Window

TICK = 10


class Stage:
    """A fleet with a store that is read tick by tick."""

    def __init__(self, **labels: Any) -> None:
        self.store = SampleStore()
        self.monitors: dict[str, RecordingMonitor] = {}
        self.fleet = Fleet(PodLabels.of(**labels), self._new_monitor)
        self.at = BEGIN

    def _new_monitor(self, model: str, depth: int, state: Mapping[str, Any] | None) -> ModelMonitor:
        self.monitors[model] = RecordingMonitor(depth=depth, state=state)
        return self.monitors[model]

    def pods(self, *names: str, **more: Any) -> list[FakePod]:
        return [FakePod(self.store, name, **more) for name in names]

    def tick(self, *pods: FakePod, drafts: float = 100) -> None:
        """Let pods work and be scraped, each at its own moment, and read that."""
        for number, pod in enumerate(pods):
            pod.work(drafts)
            pod.scrape(self.at + 1 + number)
        self.read()

    def read(self) -> None:
        self.fleet.take(self.store, Span(self.at, 1, TICK))
        self.at += TICK

    @property
    def monitor(self) -> RecordingMonitor:
        return self.monitors[MODEL]

    @property
    def drafts(self) -> list[float]:
        return [total.drafts for total in self.monitor.totals]


def test_pods_are_summed_exactly() -> None:
    stage = Stage()
    a, b = stage.pods("a", "b")
    a.drafts, a.accepted = 1e9, [7e8, 4e8]
    for _ in range(3):
        stage.tick(a, b)
    assert stage.monitor.totals[1:] == [Window(200, (140, 98), (200, 140), 238)] * 2


def test_a_pod_that_appears_brings_no_life_time() -> None:
    stage = Stage()
    a, b = stage.pods("a", "b")
    b.drafts, b.accepted = 1e6, [9e5, 8e5]
    for pods in ([a], [a], [a, b], [a, b]):
        stage.tick(*pods)
    assert stage.drafts == [0, 100, 100, 200]


def test_a_pod_that_goes_takes_nothing_with_it() -> None:
    stage = Stage()
    a, b = stage.pods("a", "b")
    for pods in ([a, b], [a, b], [a], [a]):
        stage.tick(*pods)
    assert stage.drafts == [0, 200, 100, 100]


def test_a_pod_that_restarts_is_no_drop() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(5):
        stage.tick(a)
    a.forget()
    stage.tick(a, drafts=40)
    stage.tick(a)
    assert stage.drafts == [0, 100, 100, 100, 100, 40, 100]


def test_a_sidecar_that_restarts_after_its_engine_had_does_not_count_the_engine_twice() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    a.restarts = 1
    a.drafts, a.accepted = 5000, [3500, 2400]  # of two lives of the engine, added up by the sidecar
    stage.tick(a)
    stage.tick(a)
    a.restarts, a.drafts, a.accepted = 0, 1800, [1200, 900]  # the present life, as a new sidecar shows it
    stage.tick(a)
    stage.tick(a)
    assert stage.drafts == [0, 100, 0, 100]


def test_the_skew_of_scrapes_moves_counts_by_a_tick_and_loses_none() -> None:
    stage = Stage()
    pods = stage.pods(*"abcdefghi")
    for _ in range(6):
        stage.tick(*pods)
    assert stage.drafts == [0, *[900] * 5]


def test_two_replicas_of_prometheus_do_not_double() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(5):
        a.work(100)
        a.scrape(stage.at + 1, prometheus_replica="prometheus-0")
        a.scrape(stage.at + 1.4, prometheus_replica="prometheus-1")
        stage.read()
    assert stage.drafts == [0, 100, 100, 100, 100]


def test_drafts_of_several_depths_are_judged_by_pod() -> None:
    stage = Stage()
    (short,), (long,) = stage.pods("short", depth=1), stage.pods("long", depth=3)
    for _ in range(2):
        stage.tick(short, long)
    assert stage.monitor.totals[1] == Window(200, (140, 49, 34), (200, 70, 49), 223)


def test_a_plugin_and_a_sidecar_beside_one_engine_are_not_added() -> None:
    stage = Stage()
    sidecar, plugin = stage.pods("a", "a")
    plugin.labels = {"instance": "a:8000", "pod": "a"}
    plugin.definition = "vllm-v1-plugin"
    for _ in range(3):
        stage.tick(sidecar, plugin)
    assert stage.drafts == [0, 100, 100]
    for _ in range(20):
        stage.tick(sidecar if stage.fleet.models[MODEL].definition != sidecar.definition else plugin)
    assert stage.drafts[-1] == 100, "the other one takes over once the first has fallen silent"


def test_counts_of_a_definition_that_is_only_a_bound_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    a.definition = "vllm-v0-tokens"
    for _ in range(3):
        stage.tick(a)
    assert stage.fleet.readings(stage.at) == {}
    assert "cannot be tested" in caplog.text
    assert len(caplog.records) == 1


def requests(stage: Stage, counts: Mapping[str, list[float]], instance: str = "proxy") -> None:
    scrape_requests(stage.store, {"instance": instance}, stage.at + 5, counts)


def grown(by: int) -> list[float]:
    return [100.0 * by, 200.0 * by, 70.0 * by, 49.0 * by]


def test_classes_are_summed_over_pods() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for number in range(1, 4):
        requests(stage, {"chat": grown(number), "code": grown(2 * number)})
        requests(stage, {"chat": grown(3 * number)}, "other-proxy")
        stage.tick(a, drafts=600)
    own = stage.monitor.by_class[-1]
    assert {name: window.drafts for name, window in own.items()} == {"chat": 400, "code": 200}
    assert stage.drafts == [0, 600, 600]


def test_without_engine_counters_the_classes_are_the_total() -> None:
    stage = Stage()
    for number in range(1, 4):
        requests(stage, {"chat": grown(number), "code": grown(2 * number), "unknown": grown(3 * number)})
        stage.read()
    assert stage.drafts == [0, 300, 300]
    assert set(stage.monitor.by_class[-1]) == {"chat", "code"}


def test_requests_without_any_class_are_the_total() -> None:
    stage = Stage()
    for number in range(1, 4):
        requests(stage, {"unknown": grown(number)})
        stage.read()
    assert stage.drafts == [0, 100, 100]
    assert stage.monitor.by_class[-1] == {}


def test_no_samples_are_no_interval() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(3):
        stage.tick(a)
    for _ in range(40):
        stage.read()
    assert len(stage.drafts) == 3
    assert stage.fleet.readings(stage.at)[MODEL].verdict.state is DriftState.CANNOT_TELL
    assert "no " in stage.fleet.readings(stage.at)[MODEL].verdict.reason


def test_silence_after_drift_is_not_recovery() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for share in (0.8, 0.3):
        for _ in range(60):
            a.work(100_000, share)
            a.scrape(stage.at + 1)
            stage.read()
    assert stage.fleet.readings(stage.at)[MODEL].verdict.state is DriftState.DRIFTED
    for _ in range(60):
        stage.read()
        assert stage.fleet.readings(stage.at)[MODEL].verdict.state in {DriftState.DRIFTED, DriftState.CANNOT_TELL}
    for _ in range(5):
        a.work(100_000, 0.3)
        a.scrape(stage.at + 1)
        stage.read()
    assert stage.fleet.readings(stage.at)[MODEL].verdict.state is DriftState.DRIFTED


def test_a_rolling_deploy_is_one_change() -> None:
    stage = Stage()
    pods = stage.pods(*(f"old-{number}" for number in range(8)))
    for _ in range(30):
        stage.tick(*pods, drafts=10_000)
    for number in range(8):
        pods[number] = FakePod(stage.store, f"new-{number}")
        pods[number].version = "0.33.0"
        for _ in range(3):
            stage.tick(*pods, drafts=10_000)
    for _ in range(90):
        stage.tick(*pods, drafts=10_000)
    assert stage.monitor.changes == [Change.VERSION]


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [("method", "ngram", Change.METHOD), ("version", "0.33.0", Change.VERSION), ("restarts", 1, Change.RESTART)],
)
def test_what_a_lone_pod_says_of_itself_is_a_change(attribute: str, value: object, expected: Change) -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(5):
        stage.tick(a)
    setattr(a, attribute, value)
    for _ in range(5):
        stage.tick(a)
    assert stage.monitor.changes == [expected]


def test_another_number_of_draft_tokens_is_a_change() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(5):
        stage.tick(a)
    a.depth, a.accepted = 3, [*a.accepted, 0]
    for _ in range(5):
        stage.tick(a)
    assert stage.monitor.changes == [Change.DEPTH]
    assert len(stage.monitor.totals[-1].accepted) == 3


def test_models_are_judged_apart() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(3):
        a.work(50)
        a.scrape(stage.at + 1, model="one")
        a.work(50)
        a.scrape(stage.at + 1, model="two")
        stage.read()
    assert [stage.monitors[name].totals[-1].drafts for name in ("one", "two")] == [100, 100]


def test_a_model_that_is_gone_for_a_day_is_forgotten() -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(3):
        stage.tick(a)
    stage.at += round(FORGET_S) + TICK
    stage.read()
    assert stage.fleet.models == {}


def test_models_beyond_the_limit_are_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fleet_module, "MAX_MODELS", 2)
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(2):
        for name in ("one", "two", "three"):
            a.scrape(stage.at + 1, model=name)
        stage.read()
    assert len(stage.fleet.models) == 2
    assert caplog.text.count("left out") == 1


@pytest.mark.parametrize(
    "body",
    [
        [{"values": [[BEGIN + 1, "1"]]}],
        [{"metric": {}, "value": [BEGIN + 1, "1"]}],
        [{"metric": {"pod": "a"}, "values": [[BEGIN + 1, "many"]]}],
        [{"metric": {"pod": "a"}, "values": [["now", "1"]]}],
        [{"metric": {"pod": "a"}, "values": [[BEGIN + 1]]}],
        ["text"],
    ],
)
def test_an_answer_of_another_shape_is_no_answer_and_loses_nothing(body: list[Any]) -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(3):
        stage.tick(a)

    class Odd:
        def fetch(self, metric: str, start: float, end: float) -> list[Any]:
            return body if metric == "specwatch_drafts_total" else list(stage.store.matrix(metric, start, end))

    a.work(100)
    a.scrape(stage.at + 1)
    with pytest.raises(SourceError, match="samples"):
        stage.fleet.take(Odd(), Span(stage.at, 1, TICK))
    stage.read()
    assert stage.drafts == [0, 100, 100, 100]


def test_an_error_in_judging_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    (a,) = stage.pods("a")
    for _ in range(3):
        stage.tick(a)

    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(fleet_module, "tick_counts", fail)
        with pytest.raises(RuntimeError):
            stage.tick(a)
    stage.read()
    assert stage.drafts == [0, 100, 100, 100]
