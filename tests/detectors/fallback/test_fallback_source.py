"""What the controller reads: Prometheus series and sidecars' pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from detectors.fallback.series_samples import MODEL, NOW, Samples, source, state
from detectors.watch.prometheus_api import prometheus_api
from detectors.watch.sample_store import SampleStore
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_source import SeriesSource, SourceSettings
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.fallback.observation import ObservationError, inputs_of
from specwatch_detectors.fallback.page_source import LEVEL_LABEL, PageSource
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.reading import DriftState
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.prometheus_source import PrometheusSource


def test_pods_count_by_their_drafts() -> None:
    samples = Samples()
    samples.payoff("draft", (0.9, 1.0, 1.1), instance="a")
    samples.payoff("draft", (1.9, 2.0, 2.1), instance="b")
    samples.payoff("ngram", (1.1, 1.2, 1.3), instance="c")
    samples.drafts("draft", 0, 3000, instance="a")
    samples.drafts("draft", 500, 1500, instance="b")
    samples.add("specwatch_drift_design_effect_ratio", [(NOW, 10.0)], specwatch_level="draft", instance="a")
    seen = source(samples).observe(NOW, Level.DRAFT, 0.0)
    assert seen.levels[Level.DRAFT].bounds == Bounds(0.9 * 0.75 + 1.9 * 0.25, 1.25, 1.1 * 0.75 + 2.1 * 0.25)
    assert seen.levels[Level.DRAFT].effective == pytest.approx(300.0 + 30.0)  # b: what the meter vouches for
    assert seen.levels[Level.NGRAM].effective == 0.0
    inputs = inputs_of(seen, state(), NOW, FallbackSettings(), settled=True)
    assert inputs.measured_at == NOW
    assert inputs.effective_drafts == pytest.approx(330.0)


def test_two_views_of_one_counter_are_not_added() -> None:
    samples = Samples()
    samples.payoff("draft", (0.9, 1.0, 1.1), instance="a")
    for replica in ("x", "y"):
        samples.drafts("draft", 0, 90_000, instance="a", prometheus_replica=replica)
    seen = source(samples).observe(NOW, Level.DRAFT, 0.0)
    assert seen.levels[Level.DRAFT].effective == pytest.approx(90_000 / 45.0)


def test_a_counter_that_fell_has_started_again() -> None:
    samples = Samples()
    samples.payoff("draft", (0.9, 1.0, 1.1), instance="a")
    samples.drafts("draft", 90_000, 99_000, 4500, instance="a")
    assert source(samples).observe(NOW, Level.DRAFT, 0.0).levels[Level.DRAFT].effective == 300.0


@pytest.mark.parametrize(
    ("running", "bounds"), [((8.0,), Bounds(1.4, 1.5, 1.6)), ((40.0, 60.0), Bounds(0.8, 0.9, 1.0)), ((), None)]
)
def test_the_batch_that_runs_is_what_counts(running: tuple[float, ...], bounds: Bounds | None) -> None:
    samples = Samples()
    samples.payoff("draft", (1.4, 1.5, 1.6), batch="8", instance="a")
    samples.payoff("draft", (0.8, 0.9, 1.0), batch="128", instance="a")
    for number, count in enumerate(running):
        own = {"specwatch_level": "draft", "instance": "a", "engine": str(number)}
        samples.add("specwatch_requests_running", [(NOW, count)], **own)
    seen = source(samples).observe(NOW, Level.DRAFT, 0.0).levels[Level.DRAFT]
    assert seen.bounds == (bounds or Bounds(0.8, 1.2, 1.6))  # unknown: nothing narrower than both


def test_levels_by_labels_of_their_pods() -> None:
    samples = Samples()
    samples.payoff("", (0.9, 1.0, 1.1), job="llm-draft")
    samples.payoff("", (1.1, 1.2, 1.3), job="llm-ngram")
    samples.payoff("", (9.0, 9.0, 9.0), job="other")
    rule = LevelRule(match={Level.DRAFT: {"job": "llm-draft"}, Level.NGRAM: {"job": "llm-ngram"}})
    seen = source(samples, rule=rule).observe(NOW, Level.DRAFT, 0.0)
    assert {level: own.bounds.estimate for level, own in seen.levels.items()} == {
        Level.DRAFT: 1.0,
        Level.NGRAM: 1.2,
    }


def test_where_levels_share_pods_what_was_measured_before_the_switch_is_left_out() -> None:
    samples = Samples()
    samples.payoff("", (0.9, 1.0, 1.1), at=NOW - 50.0, instance="a")
    shared = source(samples, rule=LevelRule())
    assert Level.NGRAM in shared.observe(NOW, Level.NGRAM, NOW - 60.0).levels
    assert shared.observe(NOW, Level.NGRAM, NOW - 40.0).levels == {}


def test_old_samples_other_models_and_nan_are_left_out() -> None:
    samples = Samples()
    samples.payoff("draft", (0.9, 1.0, 1.1), at=NOW - 130.0)
    samples.payoff("ngram", (0.9, 1.0, 1.1), model="other")
    samples.payoff("off", (0.9, float("nan"), 1.1))
    seen = source(samples).observe(NOW, Level.DRAFT, 0.0)
    assert seen.levels == {}
    assert inputs_of(seen, state(), NOW, FallbackSettings(), settled=True).measured_at is None
    assert inputs_of(seen, state(Level.OFF), NOW, FallbackSettings(), settled=True).measured_at == NOW


def test_a_stated_estimate_stands_in_until_the_level_is_measured() -> None:
    samples = Samples()
    samples.payoff("draft", (0.9, 1.0, 1.1))
    stated = source(samples, estimates={Level.NGRAM: Bounds(1.0, 1.1, 1.2)})
    assert stated.observe(NOW, Level.DRAFT, 0.0).levels[Level.NGRAM].bounds.estimate == 1.1
    samples.payoff("ngram", (1.3, 1.4, 1.5))
    assert stated.observe(NOW, Level.DRAFT, 0.0).levels[Level.NGRAM].bounds.estimate == 1.4


def test_a_probe_is_what_home_gives_since_it_began() -> None:
    samples = Samples()
    samples.payoff("draft", (1.6, 1.7, 1.8), at=NOW - 20.0)
    samples.payoff("ngram", (1.1, 1.2, 1.3))
    samples.drafts("draft", 0, 9000)
    seen = source(samples).observe(NOW, Level.NGRAM, 0.0)

    def probe(began: float | None) -> Bounds | None:
        own = state(Level.NGRAM, probe_began=began)
        return inputs_of(seen, own, NOW, FallbackSettings(), settled=True).probe

    assert probe(None) is None
    assert probe(NOW - 10.0) is None
    assert probe(NOW - 30.0) == Bounds(1.6, 1.7, 1.8)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [((4, 4, 4), (False, False)), ((4, 2, 4), (True, False)), ((4, 4, 3), (False, True))],
)
def test_deployments_in_motion(replicas: tuple[int, ...], expected: tuple[bool, bool]) -> None:
    samples = Samples()
    names = ("spec_replicas", "status_replicas_updated", "status_replicas_ready")
    for name, count in zip(names, replicas, strict=True):
        samples.add(f"kube_deployment_{name}", [(NOW, count)], deployment="llm")
    seen = source(samples, deployments=("llm",)).observe(NOW, Level.DRAFT, 0.0)
    assert (seen.rollout, seen.scaling) == expected
    with pytest.raises(ObservationError, match="no Deployment llm-2"):
        source(samples, deployments=("llm-2",)).observe(NOW, Level.DRAFT, 0.0)


def test_drift_and_revision_are_those_of_home() -> None:
    samples = Samples()
    for level, drift, revision in (("draft", "drifted", "d2"), ("ngram", "ok", "x")):
        own = {"specwatch_level": level, "draft_revision": revision, "target_revision": "t1"}
        samples.add("specwatch_speculation_state", [(NOW, 1.0)], state="active", **own)
        samples.add("specwatch_drift_state", [(NOW, 1.0)], traffic_class="", state=drift, **own)
    seen = source(samples, revision_labels=("target_revision", "draft_revision")).observe(NOW, Level.NGRAM, 0.0)
    assert seen.drift is DriftState.DRIFTED
    assert seen.revision == "t1 d2"


def engine(samples: Samples, level: str, version: str, *, at: float = NOW) -> None:
    own = {"specwatch_level": level, "instance": f"{level}-0"}
    samples.add("specwatch_speculation_state", [(at, 1.0)], state="active", **own)
    info = {"kind": "vllm", "dialect": "v1", "version": version}
    pairs = [(at, "1.0")]
    samples.series.setdefault("specwatch_engine_info", []).append({"metric": {**info, **own}, "values": pairs})


def test_the_version_of_homes_engine_is_part_of_its_revision() -> None:
    samples = Samples()
    engine(samples, "draft", "0.32.0")
    engine(samples, "ngram", "0.31.0")
    engine(samples, "draft", "", at=NOW - 10.0)
    assert source(samples).observe(NOW, Level.NGRAM, 0.0).revision == "vllm 0.32.0"
    engine(samples, "draft", "0.33.0")
    assert source(samples).observe(NOW, Level.NGRAM, 0.0).revision == "vllm 0.32.0, vllm 0.33.0"
    old = Samples()
    engine(old, "draft", "0.32.0", at=NOW - 200.0)
    assert source(old).observe(NOW, Level.NGRAM, 0.0).revision == ""


@pytest.mark.parametrize("probing", [False, True])
def test_pods_that_serve_home_alone_are_told_apart(probing: bool) -> None:
    samples = Samples()
    for name, updated in (("llm-draft", 1), ("llm-ngram", 4)):
        for figure, count in (
            ("spec_replicas", 4),
            ("status_replicas_updated", updated),
            ("status_replicas_ready", 4),
        ):
            samples.add(f"kube_deployment_{figure}", [(NOW, count)], deployment=name)
    samples.payoff("draft", (1.6, 1.7, 1.8))
    samples.drafts("draft", 0, 9000)
    settings = {"deployments": ("llm-ngram",), "home_deployments": ("llm-draft",)}
    seen = source(samples, **settings).observe(NOW, Level.NGRAM, 0.0)
    assert (seen.rollout, seen.scaling, seen.home_rollout, seen.home_scaling) == (False, False, True, False)
    own = state(Level.NGRAM, probe_began=NOW - 30.0 if probing else None)
    inputs = inputs_of(seen, own, NOW, FallbackSettings(), settled=True)
    assert inputs.rollout is not probing
    assert inputs.probe is None, "what is measured meanwhile is a mixture"
    with pytest.raises(ObservationError, match="no Deployment llm-x"):
        source(samples, home_deployments=("llm-x",)).observe(NOW, Level.DRAFT, 0.0)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (None, "there is no specwatch_payoff_speedup_ratio: have the sidecars a step-time profile"),
        ({"model": "other"}, "is there of other, not of llama"),
        ({"specwatch_level": "ngram"}, "of llama has the label specwatch_level=draft"),
        ({}, ""),
    ],
)
def test_what_is_missing_is_named(labels: dict[str, Any] | None, said: str) -> None:
    samples = Samples()
    if labels is not None:
        samples.payoff("draft", (0.9, 1.0, 1.1), **labels)
    found = source(samples).observe(NOW, Level.DRAFT, 0.0).missing
    assert said in found
    assert bool(said) == bool(found)


def test_missing_labels_of_levels_are_named() -> None:
    samples = Samples()
    samples.payoff("", (0.9, 1.0, 1.1), job="x")
    rule = LevelRule(match={Level.DRAFT: {"job": "a"}})
    assert "[source.levels] draft" in source(samples, rule=rule).observe(NOW, Level.DRAFT, 0.0).missing


def test_no_answer_and_an_odd_one_are_one_error() -> None:
    samples = Samples()
    samples.down = "503 Service Unavailable"
    with pytest.raises(ObservationError, match="503"):
        source(samples).observe(NOW, Level.DRAFT, 0.0)
    samples.down = ""
    samples.series["specwatch_payoff_speedup_ratio"] = [{"metric": {"model": MODEL}, "values": [(NOW, "1")]}]
    with pytest.raises(ObservationError, match="no samples"):
        source(samples, rule=LevelRule()).observe(NOW, Level.DRAFT, 0.0)


def test_a_real_client_asks_an_api() -> None:
    store = SampleStore()
    with prometheus_api(store) as api:
        asked = PrometheusSource(PrometheusAddress(api.url))
        settings = SourceSettings(MODEL, Level.DRAFT, LevelRule("specwatch_level"))
        seen = SeriesSource(asked, settings).observe(NOW, Level.DRAFT, 0.0)
        asked.close()
        assert seen.levels == {}
        assert any("specwatch_payoff_speedup_ratio" in query["query"] for _, query, _ in api.seen)


def pages(levels: Mapping[str, float], age: float = 0.0) -> list[Metric]:
    speedup = GaugeMetricFamily("specwatch_payoff_speedup_ratio", "h", labels=("model", "batch", "bound"))
    for bound, factor in (("lower", 0.99), ("estimate", 1.0), ("upper", 1.01)):
        for value in levels.values():
            speedup.add_metric([MODEL, "8", bound], value * factor)
    scrape_age = GaugeMetricFamily("specwatch_scrape_age_seconds", "h", value=age)
    return [speedup, scrape_age]


def test_pages_of_sidecars_are_a_source_too() -> None:
    age = [0.0]

    def broken() -> list[Metric]:
        raise OSError("refused")

    reads = {Level.DRAFT: [lambda: pages({"a": 1.5}, age[0]), broken], Level.NGRAM: [lambda: pages({"a": 1.2})]}
    looked = SeriesSource(PageSource(reads), SourceSettings(MODEL, Level.DRAFT, LevelRule(LEVEL_LABEL)))
    seen = looked.observe(NOW, Level.DRAFT, 0.0)
    assert {level: own.bounds.estimate for level, own in seen.levels.items()} == {
        Level.DRAFT: 1.5,
        Level.NGRAM: 1.2,
    }
    age[0] = 200.0  # the sidecar still answers, its engine does not
    seen = looked.observe(NOW + 200.0, Level.DRAFT, 0.0)
    assert set(seen.levels) == {Level.NGRAM}


def test_no_page_at_all_is_an_error() -> None:
    def broken() -> list[Metric]:
        raise ValueError("no metrics page")

    looked = SeriesSource(PageSource({Level.DRAFT: [broken]}), SourceSettings(MODEL, Level.DRAFT))
    with pytest.raises(ObservationError, match="draft 0: no metrics page"):
        looked.observe(NOW, Level.DRAFT, 0.0)


def test_a_busy_level_that_is_only_stated_has_traffic_whatever_the_drift_test_thinks() -> None:
    """Its design effect reaches tens of thousands on a busy fleet: n-gram would be too little traffic for ever."""
    samples = Samples()
    samples.drafts("ngram", 0, 90_000, instance="a")
    samples.add("specwatch_drift_design_effect_ratio", [(NOW, 35_000.0)], specwatch_level="ngram", instance="a")
    stated = source(samples, estimates={Level.NGRAM: Bounds(1.0, 1.1, 1.2)})
    assert stated.observe(NOW, Level.NGRAM, 0.0).levels[Level.NGRAM].effective == pytest.approx(2000.0)


def test_two_views_of_running_requests_are_not_added() -> None:
    samples = Samples()
    samples.payoff("draft", (1.4, 1.5, 1.6), batch="8", instance="a")
    samples.payoff("draft", (0.8, 0.9, 1.0), batch="16", instance="a")
    for replica in ("x", "y"):
        own = {"specwatch_level": "draft", "instance": "a", "engine": "0", "prometheus_replica": replica}
        samples.add("specwatch_requests_running", [(NOW, 8.0)], **own)
    assert source(samples).observe(NOW, Level.DRAFT, 0.0).levels[Level.DRAFT].bounds == Bounds(1.4, 1.5, 1.6)


def test_a_level_that_drafts_and_has_no_payoff_is_named() -> None:
    samples = Samples()
    samples.drafts("draft", 0, 9000)
    assert "have the sidecars a step-time profile" in source(samples).observe(NOW, Level.DRAFT, 0.0).missing


def test_a_page_that_cannot_be_read_is_named_though_others_can() -> None:
    def broken() -> list[Metric]:
        raise OSError("no connection")

    pages = PageSource({Level.DRAFT: [broken], Level.NGRAM: [list]})
    settings = SourceSettings(MODEL, Level.DRAFT, LevelRule(LEVEL_LABEL))
    seen = SeriesSource(pages, settings, unreadable=pages.unreadable)
    assert seen.observe(NOW, Level.DRAFT, 0.0).missing == "draft 0: no connection"
