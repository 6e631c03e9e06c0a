"""Health out of the series of pods: what is counted, what is compared with what, and what cannot be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deploy.actuators.kube_samples import pools
from deploy.actuators.kube_server import KubeServer
from deploy.actuators.ticking import Ticking
from detectors.watch.sample_store import MODEL, SampleStore
from specwatch_deploy.actuators.health_change import HealthLimits
from specwatch_deploy.actuators.moved_health import MovedHealth, Unwatched, health_maker
from specwatch_deploy.actuators.pool_figures import PoolFigures
from specwatch_deploy.actuators.series_figures import ROWS, SeriesFigures
from specwatch_detectors.fallback.actuator import Health
from specwatch_detectors.fallback.decision import Act, Decision
from specwatch_detectors.fallback.fallback_config import config_of
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.intent import Movement, begun
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.policy import begin
from specwatch_detectors.fallback.transition import Cause, Transition
from specwatch_detectors.fallback.transition_run import Ended, Ending, TransitionRun
from specwatch_detectors.fallback.transition_settings import TransitionSettings
from specwatch_exporters import catalog
from specwatch_exporters.metric import Kind

START = 10_000.0
EVERY_S = 15.0
RULE = LevelRule(label="pool_level")
LIMITS = HealthLimits(requests=20)
HOME, SHIFTED, AWAY = {Level.DRAFT: 1.0}, {Level.DRAFT: 0.75, Level.NGRAM: 0.25}, {Level.NGRAM: 1.0}


class Pod:
    """A pod whose request sidecar counts; every page is stored.

    Attributes:
        counts: requests by outcome; as in a real page, one appears with its first request.
        seconds: end-to-end times of those that succeeded.
    """

    def __init__(self, store: SampleStore, level: str, name: str, kind: str = "request") -> None:
        self._store = store
        self._rows = ROWS[kind]
        self._more = {"traffic_class": "chat"} if kind == "request" else {"engine": "0"}
        self.labels = {"pool_level": level, "instance": name, "model": MODEL}
        self.counts: dict[str, int] = {"success" if kind == "request" else "stop": 0}
        self.seconds: list[float] = []

    def work(self, seconds: float, count: int, **failed: int) -> None:
        good = next(iter(self.counts))
        self.counts[good] += count
        self.seconds += [seconds] * count
        for outcome, more in failed.items():
            self.counts[outcome] = self.counts.get(outcome, 0) + more

    def scrape(self, at: float, **view: str) -> None:
        own = {**self.labels, **self._more, **view}
        for outcome, count in self.counts.items():
            self._store.add(self._rows.requests.name, {**own, "outcome": outcome}, at, count)
        for edge in ("0.5", "1.0", "2.0", "+Inf"):
            count = sum(one <= float(edge) for one in self.seconds)
            self._store.add(f"{self._rows.latency.name}_bucket", {**own, "le": edge}, at, count)


def read(store: SampleStore, start: float, end: float, *levels: Level, kind: str = "request") -> PoolFigures:
    return SeriesFigures(store, MODEL, RULE, ROWS[kind]).of(levels or (Level.DRAFT,), start, end)


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_the_series_that_are_read_are_in_the_catalogue(kind: str) -> None:
    rows = ROWS[kind]
    assert catalog.BY_NAME[rows.requests.name] is rows.requests
    assert rows.latency.kind is Kind.HISTOGRAM
    assert "outcome" in rows.requests.labels


@pytest.mark.parametrize(("kind", "failed"), [("request", "cut"), ("engine", "error")])
def test_what_was_counted_in_a_span(kind: str, failed: str) -> None:
    store = SampleStore()
    pods = [Pod(store, "draft", name, kind) for name in ("a", "b")]
    other = Pod(store, "ngram", "c", kind)
    for n in range(5):
        for pod in (*pods, other):
            pod.scrape(START + n * EVERY_S)
            pod.work(0.7, 10, **{failed: 1, "aborted" if kind == "request" else "abort": 3})
    found = read(store, START + EVERY_S, START + 3 * EVERY_S, kind=kind)
    assert (found.ended, found.failed, found.edges) == (2 * 2 * 11, 2 * 2, (0.5, 1.0, 2.0, float("inf")))
    assert found.latencies == (0, 40, 0, 0)
    assert read(store, START, START + EVERY_S, Level.DRAFT, Level.NGRAM, kind=kind).ended == 3 * 11


def test_a_failure_that_is_the_first_of_its_kind_is_counted_whole() -> None:
    """A counter appears with its first request: nothing may be lost of the errors that a movement brings."""
    store = SampleStore()
    pod = Pod(store, "draft", "a")
    pod.scrape(START)
    pod.work(0.7, 50, error=37)
    pod.scrape(START + EVERY_S)
    found = read(store, START, START + EVERY_S)
    assert (found.ended, found.failed) == (87, 37)


def test_what_a_new_pod_had_counted_before_it_was_seen_is_nobodys() -> None:
    store = SampleStore()
    pod = Pod(store, "draft", "a")
    pod.work(0.7, 9000, error=500)
    pod.scrape(START + EVERY_S)
    pod.work(0.7, 10)
    pod.scrape(START + 2 * EVERY_S)
    assert read(store, START, START + 2 * EVERY_S).ended == 10


def test_a_restart_in_the_span_begins_at_nothing() -> None:
    store = SampleStore()
    pod = Pod(store, "draft", "a")
    pod.work(0.7, 1000)
    pod.scrape(START)
    pod.counts, pod.seconds = {"success": 0}, []
    pod.work(0.7, 30)
    pod.scrape(START + EVERY_S)
    assert read(store, START, START + EVERY_S).ended == 30


def test_two_views_of_one_pod_are_not_added_and_other_models_are_left_out() -> None:
    store = SampleStore()
    pod, other = Pod(store, "draft", "a"), Pod(store, "draft", "b")
    other.labels["model"] = "other"
    for n in range(2):
        for view in ("x", "y"):
            pod.scrape(START + n * EVERY_S, prometheus_replica=view)
        other.scrape(START + n * EVERY_S)
        pod.work(0.7, 30)
        other.work(0.7, 30)
    assert read(store, START, START + EVERY_S).ended == 30


def test_a_pod_that_has_answered_nothing_yet_does_not_know_its_model(fleet: Fleet) -> None:
    fleet.ngram.labels["model"] = "unknown"
    fleet.watch.moved(HOME, SHIFTED)
    fleet.watch.health()
    fleet.scrapes(2, lambda: fleet.ngram.work(0.7, 0, error=30))
    assert "errors 100.00% (0.00% before)" in fleet.watch.health().reason


def test_where_levels_share_pods_all_of_it_is_the_levels() -> None:
    store = SampleStore()
    pod = Pod(store, "", "a")
    pod.scrape(START)
    pod.work(0.7, 30)
    pod.scrape(START + EVERY_S)
    figures = SeriesFigures(store, MODEL, LevelRule(), ROWS["request"])
    assert figures.of([Level.NGRAM], START, START + EVERY_S).ended == 30


class Fleet:
    """Two pools under a watch, at a clock of its own."""

    def __init__(self) -> None:
        self.store, self.clock = SampleStore(), Ticking(START)
        self.draft, self.ngram = Pod(self.store, "draft", "a"), Pod(self.store, "ngram", "b")
        figures = SeriesFigures(self.store, MODEL, RULE, ROWS["request"])
        self.watch = MovedHealth(figures, LIMITS, self.clock)

    def scrapes(self, count: int, work: Callable[[], None] = lambda: None) -> None:
        for _ in range(count):
            self.clock.now += EVERY_S
            work()
            for pod in (self.draft, self.ngram):
                pod.scrape(self.clock.now)

    def busy_draft(self) -> None:
        self.draft.work(0.7, 30)


@pytest.fixture
def fleet() -> Fleet:
    own = Fleet()
    own.scrapes(20, own.busy_draft)
    return own


def test_what_gained_traffic_is_held_against_the_traffic_before(fleet: Fleet) -> None:
    fleet.watch.moved(HOME, SHIFTED)
    assert not fleet.watch.health().known
    fleet.scrapes(2, lambda: fleet.ngram.work(0.7, 30))
    good = fleet.watch.health()
    assert (good.ok, good.known) == (True, True)
    assert good.reason == "n-gram: errors 0.00% (0.00% before), p99 0.995 s (0.995 before)"
    fleet.scrapes(2, lambda: fleet.ngram.work(0.7, 30, error=10))
    bad = fleet.watch.health()
    assert (bad.ok, bad.known) == (False, True)
    assert "n-gram: errors 14.29% (0.00% before)" in bad.reason


def test_slower_answers_are_a_regression(fleet: Fleet) -> None:
    fleet.watch.moved(HOME, SHIFTED)
    fleet.watch.health()
    fleet.scrapes(2, lambda: fleet.ngram.work(1.9, 30))
    bad = fleet.watch.health()
    assert (bad.ok, bad.known) == (False, True)
    assert "p99 1.99 s (0.995 before)" in bad.reason


def test_a_drafter_that_gets_worse_does_not_stop_the_way_to_ngram(fleet: Fleet) -> None:
    fleet.watch.moved(HOME, SHIFTED)
    fleet.watch.health()

    def work() -> None:
        fleet.draft.work(1.9, 30, error=30)
        fleet.ngram.work(0.7, 30)

    fleet.scrapes(2, work)
    assert fleet.watch.health().ok


def test_a_further_step_is_held_against_the_time_before_the_first(fleet: Fleet) -> None:
    fleet.watch.moved(HOME, SHIFTED)
    fleet.scrapes(20, lambda: fleet.ngram.work(1.9, 30))
    fleet.watch.moved(SHIFTED, AWAY)
    fleet.watch.health()
    fleet.scrapes(2, lambda: fleet.ngram.work(1.9, 30))
    assert "p99 1.99 s (0.995 before)" in fleet.watch.health().reason


def test_what_pods_did_while_they_were_replaced_says_nothing_of_the_new_ones(fleet: Fleet) -> None:
    fleet.watch.moved(HOME, AWAY)
    fleet.scrapes(4, lambda: fleet.ngram.work(0.7, 30, error=30))  # the step is not in force yet
    assert not fleet.watch.health().known
    fleet.scrapes(2, lambda: fleet.ngram.work(0.7, 30))
    assert fleet.watch.health().ok


def test_requests_that_reach_nothing_are_no_measure_and_a_regression(fleet: Fleet) -> None:
    fleet.watch.moved(HOME, SHIFTED)
    fleet.watch.health()
    fleet.scrapes(2, lambda: fleet.ngram.work(0.7, 0, unreachable=30))
    bad = fleet.watch.health()
    assert (bad.ok, bad.known) == (False, True)
    assert "n-gram cannot be reached" in bad.reason


def test_nothing_is_said_without_a_movement_of_its_own(fleet: Fleet) -> None:
    assert "before the movement is not known" in fleet.watch.health().reason
    assert not Unwatched().health().known


@pytest.mark.parametrize("odd", [False, True])
def test_a_prometheus_that_is_gone_or_odd_is_no_regression(fleet: Fleet, odd: bool) -> None:
    fleet.watch.moved(HOME, SHIFTED)
    fleet.watch.health()
    fleet.scrapes(1, lambda: fleet.ngram.work(0.7, 30))
    if odd:
        fleet.store.matrix = lambda *_: [{"labels": {}}]  # type: ignore[method-assign]
    else:
        fleet.store.down = "connection refused"
    found = fleet.watch.health()
    assert not found.known
    assert ("holds no samples" if odd else "connection refused") in found.reason
    fleet.watch.moved(HOME, SHIFTED)  # nothing is known of before; it goes on all the same
    assert "before the movement is not known" in fleet.watch.health().reason


def test_without_request_series_it_says_which_are_missing(fleet: Fleet) -> None:
    empty = MovedHealth(SeriesFigures(SampleStore(), MODEL, RULE, ROWS["request"]), LIMITS, fleet.clock)
    empty.moved(HOME, SHIFTED)
    empty.health()
    fleet.clock.now += EVERY_S
    found = empty.health()
    assert not found.known
    assert "specwatch_request_finished_total counts no request of it; see [lever] health" in found.reason


CONFIG: dict[str, Any] = {
    "model": MODEL,
    "audit_log": "fallback.jsonl",
    "source": {"prometheus": "http://prometheus.example.com:9090", "level_label": "pool_level"},
    "lever": {"kind": "none"},
}


@pytest.mark.parametrize(
    ("kind", "watched"), [("request", MovedHealth), ("engine", MovedHealth), ("none", Unwatched)]
)
def test_a_watch_is_made_of_the_configuration(kind: str, watched: type) -> None:
    assert isinstance(health_maker(config_of(CONFIG), SampleStore())(kind, LIMITS), watched)


STEPS = TransitionSettings(watch_s=30.0, watch_most_s=60.0)


def moved_through(kube: KubeServer, fleet: Fleet, work: Callable[[], None]) -> Ended:
    """A movement to n-gram of the route's weights, carried through under the watch."""
    lever = pools(kube, health=fleet.watch)
    run = TransitionRun(lever, STEPS, lambda *_: None)
    settings = FallbackSettings(levels=(Level.DRAFT, Level.NGRAM))
    home, away = begin(settings, 0.0), begin(settings, 0.0, Level.NGRAM)
    wanted, decision = Movement(Cause.NOT_PAYING, Level.NGRAM, 1.0), Decision(Act.SWITCH, Level.NGRAM, "why")
    state: Transition | Ended = begun(wanted, decision, lever, lever.describe(), fleet.clock.now, away, home)
    for _ in range(60):
        assert isinstance(state, Transition)
        state = run.go_on(state, fleet.clock.now)
        if isinstance(state, Ended):
            return state
        kube.advance(1)
        fleet.scrapes(1, work)
    raise AssertionError(state)


def test_a_regression_in_prometheus_undoes_a_step_of_the_route(kube: KubeServer, fleet: Fleet) -> None:
    def work() -> None:
        fleet.draft.work(0.7, 30)
        fleet.ngram.work(0.7, 10, error=20)

    ended = moved_through(kube, fleet, work)
    assert ended.how is Ending.UNDONE
    assert "n-gram: errors 66.67% (0.00% before)" in ended.words
    refs = kube.objects.get(("httproutes", "serving", "llama"))["spec"]["rules"][1]["backendRefs"]
    assert [ref["weight"] for ref in refs] == [1, 0]
    assert ended.transition.index == 0, "it got no further than 5 %"


def test_without_a_regression_the_route_goes_all_the_way(kube: KubeServer, fleet: Fleet) -> None:
    ended = moved_through(kube, fleet, lambda: fleet.ngram.work(0.7, 30))
    assert ended.how is Ending.DONE
    assert "errors 0.00% (0.00% before)" in ended.words
    assert Health(ok=True, reason=ended.words) == pools(kube, health=fleet.watch).health()
