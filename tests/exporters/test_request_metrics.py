from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from specwatch_exporters import request_catalog
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.classes.class_name import OTHER
from specwatch_exporters.metric import Kind, Metric, Source
from specwatch_exporters.request_catalog import REQUEST_CATALOG, REQUEST_LABELS
from specwatch_exporters.request_histogram import WeightedHistogram
from specwatch_exporters.request_labels import (
    BATCH_LABELS,
    RequestLimits,
    batch_label,
    class_label,
    model_label,
)
from specwatch_exporters.request_metrics import (
    DraftCounts,
    Outcome,
    RequestMetrics,
    RequestSeries,
    series_bound,
)
from specwatch_exporters.token_time import inter_token, tokens_per_chunk

DOCS = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
HISTOGRAMS = [metric for metric in REQUEST_CATALOG if metric.kind is Kind.HISTOGRAM]
EDGES = (0.0, 0.5, 1.0, 2.5)


def samples(registry: CollectorRegistry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample but the creation times, which the sidecar switches off."""
    return {
        (found.name, tuple(sorted(found.labels.items()))): found.value
        for family in registry.collect()
        for found in family.samples
        if not found.name.endswith("_created")
    }


def histogram() -> tuple[CollectorRegistry, WeightedHistogram]:
    registry = CollectorRegistry()
    return registry, WeightedHistogram("x", "x", ("a",), buckets=EDGES, registry=registry).labels("1")


VALUES = st.floats(0, 5, allow_nan=False)


@given(st.lists(st.tuples(VALUES, st.integers(0, 5))))
@settings(deadline=None)
def test_many_observations_at_once_are_as_many_single_ones(batches: list[tuple[float, int]]) -> None:
    (one_by_one, single), (at_once, weighted) = histogram(), histogram()
    for value, count in batches:
        weighted.observe_many(value, count)
        for _ in range(count):
            single.observe(value)
    assert samples(at_once) == pytest.approx(samples(one_by_one))


@given(st.lists(VALUES))
@settings(deadline=None)
def test_counts_made_elsewhere_are_as_many_single_ones(values: list[float]) -> None:
    (one_by_one, single), (at_once, weighted) = histogram(), histogram()
    counts = [0] * (len(EDGES) + 1)
    for value in values:
        single.observe(value)
        counts[next((index for index, edge in enumerate(EDGES) if value <= edge), len(EDGES))] += 1
    weighted.add_counts(counts, sum(values))
    assert samples(at_once) == pytest.approx(samples(one_by_one))


def test_a_histogram_takes_only_its_own_number_of_counts_and_no_nan() -> None:
    registry, weighted = histogram()
    with pytest.raises(ValueError, match="2 counts for 5 buckets"):
        weighted.add_counts([1, 2], 3.0)
    weighted.observe_many(math.nan, 3)
    assert samples(registry)["x_count", (("a", "1"),)] == 0


@pytest.mark.parametrize(
    ("size", "label"),
    [
        (0, "1"),
        (0.4, "1"),
        (1, "1"),
        (1.4, "1"),
        (1.6, "2"),
        (2, "2"),
        (3, "4"),
        (5, "8"),
        (9, "16"),
        (17, "32"),
        (33, "64"),
        (64, "64"),
        (65, "128"),
        (128, "128"),
        (129, "+"),
        (1e6, "+"),
    ],
)
def test_batches_fall_into_the_bucket_with_the_next_edge(size: float, label: str) -> None:
    assert batch_label(size) == label


@pytest.mark.parametrize(
    ("given_name", "label"),
    [
        ("code", "code"),
        (" Code Review ", "code-review"),
        ("a/b\\c", "a-b-c"),
        ('x",y="', "x-y"),
        ("é", ""),
        ("", ""),
        ("_a", "a"),
        ("a" * 99, "a" * 32),
        ("日本", ""),
        ("a\x00b\n", "a-b"),
    ],
)
def test_a_class_is_a_harmless_label(given_name: str, label: str) -> None:
    assert class_label(given_name) == label


@given(st.text(st.characters(categories=["L", "N", "P", "Z", "C"])))
@settings(deadline=None)
def test_any_model_and_class_can_be_exported(text: str) -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    metrics.finished(model_label(text), metrics.traffic_class(text), Outcome.SUCCESS)
    page = generate_latest(registry).decode()
    assert sum(line.startswith("specwatch_request_finished_total{") for line in page.splitlines()) == len(Outcome)


def test_all_outcomes_of_a_model_and_class_begin_at_zero_together() -> None:
    """A counter that is born at 300 has no increase: the first failures would count for nothing."""
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    metrics.finished("llama", "chat", Outcome.SUCCESS)
    known = {
        one: registry.get_sample_value(
            "specwatch_request_finished_total", {"model": "llama", "traffic_class": "chat", "outcome": one.value}
        )
        for one in Outcome
    }
    assert known == {one: float(one is Outcome.SUCCESS) for one in Outcome}
    metrics.finished("llama", "chat", Outcome.CUT, 300)
    assert (
        registry.get_sample_value(
            "specwatch_request_finished_total", {"model": "llama", "traffic_class": "chat", "outcome": "cut"}
        )
        == 300
    )


@pytest.mark.parametrize("metric", HISTOGRAMS, ids=lambda metric: metric.name)
def test_buckets_are_ascending_and_finite_and_labels_the_same(metric: Metric) -> None:
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert all(math.isfinite(edge) for edge in metric.buckets)
    assert metric.labels == REQUEST_LABELS


def test_all_rows_are_of_requests() -> None:
    assert all(Source.REQUEST in metric.source for metric in REQUEST_CATALOG)


def fill(series: RequestSeries) -> None:
    """Put one sample into every histogram."""
    for one in (series.acceptance_length, series.acceptance_ratio, series.queue_wait, series.time_to_first_token):
        one.observe(1.0)
    for one in (series.inter_token, series.inter_chunk, series.e2e):
        one.observe(1.0)


def saturate(metrics: RequestMetrics, models: int, classes: int, methods: int) -> None:
    counts = DraftCounts(Tally(1.0, 20.0, 20.0, (1.0,) * 20), (1,) * 20)
    for model in (f"m{number}" for number in range(models)):
        for name in [metrics.traffic_class(f"class-{number}") for number in range(classes)]:
            for method in (f"method-{number}" for number in range(methods)):
                for batch in BATCH_LABELS:
                    fill(metrics.series(model, name, batch, method))
                metrics.drafts(model, name, method, counts)
            metrics.token_counts(model, name, 1, 1)
            metrics.without_record(model, name)
            for outcome in Outcome:
                metrics.finished(model, name, outcome)


def test_twelve_classes_and_nine_batches_fit() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    saturate(metrics, models=1, classes=11, methods=1)
    found = samples(registry)
    assert not any(name == request_catalog.FOLDED.name for name, _ in found)
    sets = {labels for name, labels in found if name == "specwatch_request_e2e_latency_seconds_count"}
    assert len(sets) == 11 * 9


@pytest.mark.parametrize(("models", "classes", "methods"), [(1, 12, 1), (1, 50, 1), (5, 20, 2), (60, 3, 3)])
def test_series_stay_under_the_stated_bound(models: int, classes: int, methods: int) -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    saturate(metrics, models, classes, methods)
    bound = series_bound(RequestLimits())
    assert len(samples(registry)) <= bound
    stated = re.search(r"At most ([\d,]+) series", DOCS.read_text())
    assert stated is not None, "docs/metrics.md states no bound"
    assert bound <= int(stated[1].replace(",", "")) < bound + 100


def test_a_class_too_many_becomes_other_and_is_counted() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry, RequestLimits(classes=3), reserved=["ruled"])
    assert [metrics.traffic_class(name) for name in ("a", "b", "ruled", "a", "", "!!")] == [
        "a",
        OTHER,
        "ruled",
        "a",
        OTHER,
        OTHER,
    ]
    assert samples(registry)["specwatch_request_folded_total", (("limit", "class"),)] == 1


def test_label_sets_too_many_give_up_the_class_first() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry, RequestLimits(models=1, sets=1))
    metrics.series("m", OTHER, "1").e2e.observe(1)
    metrics.series("m", "a", "1").e2e.observe(1)
    assert metrics.series("m", "b", "1", "ngram").labels == (OTHER, OTHER, "1", "unknown"), "a second method"
    assert metrics.series("m", "b", "1").labels == ("m", OTHER, "1", "unknown")
    assert metrics.series("n", "b", "4").labels == (OTHER, OTHER, "4", "unknown")
    assert metrics.series("m", "a", "1").labels[:2] == ("m", "a")
    assert samples(registry)["specwatch_request_folded_total", (("limit", "series"),)] == 1
    assert samples(registry)["specwatch_request_folded_total", (("limit", "model"),)] == 2


def test_what_was_never_seen_has_no_series() -> None:
    registry = CollectorRegistry()
    RequestMetrics(registry).series("m", "a", "1").time_to_first_token.observe(0.1)
    assert {name for name, _ in samples(registry)} == {
        f"specwatch_request_time_to_first_token_seconds_{part}" for part in ("bucket", "count", "sum")
    }


def test_unknown_counts_add_nothing() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    metrics.drafts("m", "a", "off", DraftCounts(Tally()))
    metrics.token_counts("m", "a", None, None)
    assert samples(registry) == {}


@pytest.mark.parametrize(
    "half", [Tally(50.0), Tally(50.0, 150.0), Tally(50.0, None, 91.0), Tally(accepted_per_position=(9.0,))]
)
def test_half_a_ratio_is_in_no_total(half: Tally) -> None:
    registry = CollectorRegistry()
    RequestMetrics(registry).drafts("m", "a", "eagle3", DraftCounts(half, (9,)))
    assert samples(registry) == {}


def test_draft_steps_sum_up_to_the_mean_acceptance_length() -> None:
    registry = CollectorRegistry()
    RequestMetrics(registry).series("m", "a", "1").draft_steps([39, 1, 0, 3])
    found = {name: value for (name, labels), value in samples(registry).items() if "le" not in dict(labels)}
    length = "specwatch_request_acceptance_length_tokens"
    assert found[f"{length}_count"] == 43
    assert found[f"{length}_sum"] / found[f"{length}_count"] == pytest.approx(1.232558, abs=1e-6)


def test_tokens_of_one_chunk_share_its_gap() -> None:
    registry = CollectorRegistry()
    series = RequestMetrics(registry).series("m", "a", "1")
    series.tokens(4, 0.012)
    series.tokens(0, 0.008)
    found = samples(registry)
    labels = (("batch", "1"), ("model", "m"), ("speculation", "unknown"), ("traffic_class", "a"))
    name = "specwatch_request_inter_token_seconds"
    assert found[f"{name}_count", labels] == 4
    assert found[f"{name}_sum", labels] == pytest.approx(0.02)
    assert found[f"{name}_bucket", tuple(sorted((*labels, ("le", "0.003"))))] == 4
    assert found[f"{name}_bucket", tuple(sorted((*labels, ("le", "0.002"))))] == 0


@pytest.mark.parametrize(
    ("what", "gap_ms", "token_ms", "tokens", "corrected_ms"),
    [
        ("vLLM's benchmark at concurrency 32: mean ITL and mean TPOT", 24.56, 11.88, 2.067, 11.88),
        ("SGLang's before the fix: 8.72 ms at 292.29 tokens/s", 8.72, 1000 / 292.29, 2.549, 3.421),
        ("SGLang's after the fix: 3.20 ms at 293.48 tokens/s", 3.2, 1000 / 293.48, 0.939, 3.407),
    ],
)
def test_a_reported_gap_between_chunks_is_corrected(
    what: str, gap_ms: float, token_ms: float, tokens: float, corrected_ms: float
) -> None:
    implied = tokens_per_chunk(gap_ms, token_ms)
    assert implied == pytest.approx(tokens, abs=1e-3), what
    assert inter_token(gap_ms, implied) == pytest.approx(corrected_ms, abs=1e-3)


@pytest.mark.parametrize(("gap", "per_token"), [(None, 1.0), (1.0, None), (1.0, 0.0)])
def test_an_unknown_time_implies_nothing(gap: float | None, per_token: float | None) -> None:
    assert tokens_per_chunk(gap, per_token) is None
    assert inter_token(gap, tokens_per_chunk(gap, per_token)) is None
