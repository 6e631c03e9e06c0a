"""Which labels are given up at the limits, that it is counted, and that sums agree all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.catalog import BY_NAME
from specwatch_exporters.classes.class_name import OTHER
from specwatch_exporters.request_labels import BATCH_LABELS, LabelBook, RequestLimits
from specwatch_exporters.request_metrics import DraftCounts, Outcome, RequestMetrics, series_bound

FOLDED = "specwatch_request_folded_total"
TIGHT = RequestLimits(classes=5, models=2, sets=6, groups=3)


class Event(NamedTuple):
    """A request that was answered in full, with one draft step."""

    model: str
    traffic_class: str
    batch: str
    method: str


def events(methods: tuple[str, ...]) -> st.SearchStrategy[list[Event]]:
    models = st.sampled_from([*(f"m{number}" for number in range(25)), OTHER])
    classes = st.sampled_from(["a", "b", "c", "d", "e", OTHER])
    return st.lists(
        st.builds(Event, models, classes, st.sampled_from(BATCH_LABELS), st.sampled_from(methods)), max_size=80
    )


def observed(given_events: list[Event], limits: RequestLimits) -> CollectorRegistry:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry, limits)
    for event in given_events:
        name = metrics.traffic_class(event.traffic_class)
        series = metrics.series(event.model, name, event.batch, event.method)
        series.e2e.observe(1)
        series.draft_steps([0, 1])
        metrics.drafts(event.model, name, event.method, DraftCounts(Tally(1.0, 4.0, 1.0, (1.0, 0.0)), (1, 1)))
        metrics.token_counts(event.model, name, 1, 1)
        metrics.finished(event.model, name, Outcome.SUCCESS)
    return registry


def sums(registry: CollectorRegistry, name: str, *by: str) -> Counter[tuple[str, ...]]:
    """Sum of a metric's samples by these labels."""
    found: Counter[tuple[str, ...]] = Counter()
    for family in registry.collect():
        for sample in family.samples:
            if sample.name == name:
                found[tuple(sample.labels[label] for label in by)] += int(sample.value)
    return found


PAIRS_OF_FAMILIES = (
    ("specwatch_request_e2e_latency_seconds_count", "specwatch_request_finished_total"),
    ("specwatch_request_e2e_latency_seconds_count", "specwatch_request_output_tokens_total"),
    ("specwatch_request_acceptance_length_tokens_count", "specwatch_request_drafts_total"),
)


@given(events(("eagle3",)), st.sampled_from([TIGHT, RequestLimits()]))
@settings(deadline=None)
def test_sums_of_histograms_and_counters_agree_per_model(given_events: list[Event], limits: RequestLimits) -> None:
    registry = observed(given_events, limits)
    for histogram, counter in PAIRS_OF_FAMILIES:
        assert sums(registry, histogram, "model") == sums(registry, counter, "model")
    by_class = ("model", "traffic_class")
    drafts = sums(registry, "specwatch_request_drafts_total", *by_class)
    assert drafts == sums(registry, "specwatch_request_finished_total", *by_class), "counters agree per class too"


@given(events(("eagle3", "ngram", "off")))
@settings(deadline=None)
def test_nothing_is_lost_and_the_bound_holds_with_any_methods(given_events: list[Event]) -> None:
    registry = observed(given_events, TIGHT)
    for names in PAIRS_OF_FAMILIES:
        assert [sum(sums(registry, name).values()) for name in names] == [len(given_events)] * 2
    count = sum(not sample.name.endswith("_created") for family in registry.collect() for sample in family.samples)
    assert count <= series_bound(TIGHT)


WAYS: dict[str, Callable[[RequestMetrics, Event, str], None]] = {
    "specwatch_request_e2e_latency_seconds_count": lambda metrics, event, name: metrics.series(
        event.model, name, event.batch, event.method
    ).e2e.observe(1),
    "specwatch_request_drafts_total": lambda metrics, event, name: metrics.drafts(
        event.model, name, event.method, DraftCounts(Tally(1.0, 4.0, 1.0))
    ),
    "specwatch_request_output_tokens_total": lambda metrics, event, name: metrics.token_counts(
        event.model, name, None, 1
    ),
    "specwatch_request_finished_total": lambda metrics, event, name: metrics.finished(
        event.model, name, Outcome.SUCCESS
    ),
    "specwatch_request_without_record_total": lambda metrics, event, name: metrics.without_record(
        event.model, name
    ),
}


@pytest.mark.parametrize("family", WAYS)
@given(given_events=events(("eagle3",)))
@settings(deadline=None)
def test_whatever_is_not_under_its_own_name_was_counted(family: str, given_events: list[Event]) -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry, TIGHT)
    by = BY_NAME[family.removesuffix("_count")].labels[: 2 if "finished" in family else None]
    wanted: Counter[tuple[str, ...]] = Counter()
    models: Counter[tuple[str, ...]] = Counter()
    for event in given_events:
        name = metrics.traffic_class(event.traffic_class)
        WAYS[family](metrics, event, name)
        values = {"model": event.model, "traffic_class": name, "batch": event.batch, "speculation": event.method}
        wanted[tuple(values[label] for label in by)] += 1
        models[event.model,] += 1
    gone = sum((wanted - sums(registry, family, *by)).values())
    gone_models = sum((models - sums(registry, family, "model")).values())
    counted = sums(registry, FOLDED, "limit")
    assert (counted["model",], counted["series",]) == (gone_models, gone - gone_models)


@given(events(("eagle3",)))
@settings(deadline=None)
def test_the_class_is_given_up_before_the_model(given_events: list[Event]) -> None:
    """As many models as the limits promise keep their names, whatever classes came before them."""
    registry = observed(given_events, TIGHT)
    first = list(dict.fromkeys(event.model for event in given_events))[: TIGHT.models]
    finished = sums(registry, "specwatch_request_finished_total", "model")
    for model in first:
        assert finished[model,] >= sum(event.model == model for event in given_events)


@pytest.mark.parametrize("order", ["model by model", "class by class"])
@pytest.mark.parametrize("method", ["unknown", "eagle3"])
def test_eight_models_with_eleven_classes_keep_their_models(order: str, method: str) -> None:
    models, classes = [f"m{number}" for number in range(8)], [f"c{number}" for number in range(11)]
    pairs = [(model, name) for model in models for name in classes]
    if order == "class by class":
        pairs = [(model, name) for name in classes for model in models]
    registry = observed([Event(model, name, "4", method) for model, name in pairs], RequestLimits())
    finished = sums(registry, "specwatch_request_finished_total", "model", "traffic_class")
    assert {model for model, _ in finished} == set(models)
    given_up = sum(count for (_, name), count in finished.items() if name == OTHER)
    assert 0 < given_up <= 48
    # Each such request: its series, its drafts, its tokens, its end. Its histograms follow its counters.
    assert sums(registry, FOLDED, "limit") == {("series",): 4 * given_up}
    e2e = sums(registry, "specwatch_request_e2e_latency_seconds_count", "model", "traffic_class")
    assert e2e == finished


def test_without_classes_more_models_keep_their_names() -> None:
    given_events = [Event(f"m{number}", OTHER, "1", "eagle3") for number in range(30)]
    registry = observed(given_events, RequestLimits())
    finished = sums(registry, "specwatch_request_finished_total", "model")
    assert finished[OTHER,] == 30 - (len(finished) - 1)
    assert len(finished) - 1 > RequestLimits().models
    assert sums(registry, FOLDED, "limit") == {("model",): 4 * finished[OTHER,]}


def test_every_class_of_a_model_fits_at_every_batch_size() -> None:
    limits = RequestLimits()
    names = [f"c{number}" for number in range(limits.classes - 1)] + [OTHER]
    given_events = [Event("m", name, batch, "eagle3") for name in names for batch in BATCH_LABELS]
    registry = observed(given_events, limits)
    assert sums(registry, FOLDED, "limit") == {}
    assert len(sums(registry, "specwatch_request_e2e_latency_seconds_count", "traffic_class", "batch")) == len(
        given_events
    )


def test_a_reserved_class_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for the class 'c'"):
        LabelBook(RequestLimits(classes=3), ["a", "b", "other", "c"])
