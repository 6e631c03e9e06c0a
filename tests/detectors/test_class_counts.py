from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily

from specwatch_detectors.class_counts import ClassCounts
from specwatch_exporters import request_catalog
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.request_metrics import DraftCounts, RequestMetrics

LABELS = ("model", "traffic_class", "speculation")


class Totals:
    """Per-request counters of one class that only know drafts, tokens and position 0."""

    def __init__(self) -> None:
        self.drafts = 0.0
        self.accepted = 0.0
        self.position = "0"

    def __call__(self) -> list[CounterMetricFamily]:
        rows = {
            request_catalog.DRAFTS: self.drafts,
            request_catalog.DRAFT_TOKENS: self.drafts,
            request_catalog.ACCEPTED_TOKENS: self.accepted,
        }
        found = []
        for metric, value in rows.items():
            family = CounterMetricFamily(metric.family, metric.help, labels=LABELS)
            family.add_metric(["m", "code", "eagle3"], value)
            found.append(family)
        position = request_catalog.ACCEPTED_PER_POSITION
        family = CounterMetricFamily(position.family, position.help, labels=(*LABELS, "position"))
        family.add_metric(["m", "code", "eagle3", self.position], self.accepted)
        return [*found, family]


def test_the_first_look_is_a_whole_life() -> None:
    totals = Totals()
    totals.drafts, totals.accepted = 1e9, 5e8
    assert ClassCounts(totals).take() == {}


@given(st.lists(st.tuples(st.integers(0, 1000), st.booleans()), min_size=1, max_size=30))
def test_increases_add_up_whatever_the_restarts(steps: list[tuple[int, bool]]) -> None:
    totals = Totals()
    counts = ClassCounts(totals)
    counts.take()
    seen = true = 0.0
    for added, restarted in steps:
        if restarted and totals.drafts > added:  # a restart that has already counted past its old total is not seen
            totals.drafts = totals.accepted = 0.0
        totals.drafts += added
        totals.accepted += added / 2.0
        true += added
        window = counts.take().get("m", {}).get("code")
        seen += 0.0 if window is None else window.drafts
        if window is not None:
            assert window.accepted[0] == pytest.approx(window.drafts / 2.0)
    assert seen == pytest.approx(true)


def test_a_position_that_is_no_number_is_refused() -> None:
    totals = Totals()
    totals.position = "first"
    with pytest.raises(ValueError, match="is no number"):
        ClassCounts(totals).take()


def test_only_requests_of_the_own_method_are_counted_and_those_of_an_unknown_one() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    counts = ClassCounts(registry.collect, "EAGLE-3")
    counts.take()
    for method, drafts in (("eagle3", 10.0), ("ngram", 7.0), ("unknown", 1.0)):
        metrics.drafts("m", "code", method, DraftCounts(Tally(drafts, 3 * drafts, drafts)))
    assert counts.take()["m"]["code"].drafts == 11.0


def test_what_nobody_told_the_class_of_has_none() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    counts = ClassCounts(registry.collect)
    counts.take()
    for name in ("code", "unknown", ""):
        metrics.drafts("m", name, "eagle3", DraftCounts(Tally(10.0, 30.0, 10.0)))
    assert set(counts.take()["m"]) == {"code"}
