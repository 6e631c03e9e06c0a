from __future__ import annotations

import copy
from typing import Any

import pytest

from specwatch_dashboards.build import build
from specwatch_dashboards.metric_check import (
    FROM_SCALING,
    UnknownMetricError,
    check_metrics,
    label_values,
    recorded_names,
)
from specwatch_dashboards.source import Source
from specwatch_deploy.scale.demand_rules import DEMAND, FREED, PART


@pytest.fixture
def dashboard() -> dict[str, Any]:
    return copy.deepcopy(build(Source.SIDECAR)["specwatch-speculation"])


UNKNOWN = [
    ("specwatch_acceptance_rate", "nobody exports or records specwatch_acceptance_rate"),
    ("rate(vllm:num_preemptions[$__rate_interval])", "nobody exports or records vllm:num_preemptions"),
    ("specwatch:drafts:rate1m", "nobody exports or records specwatch:drafts:rate1m"),
    ('{model="m"}', "nobody exports or records a series without a name"),
    ("sum(", "unclosed left parenthesis"),
    ("specwatch_acceptance_length_tokens_bucket", "nobody exports or records"),
]


@pytest.mark.parametrize(("expr", "complaint"), UNKNOWN)
def test_a_metric_that_nobody_knows_fails_the_build(dashboard: dict[str, Any], expr: str, complaint: str) -> None:
    dashboard["panels"][0]["targets"][0]["expr"] = expr
    with pytest.raises(UnknownMetricError, match="Speed-up by speculation") as caught:
        check_metrics(dashboard, Source.SIDECAR)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_panels_of_closed_rows_are_checked() -> None:
    latency = copy.deepcopy(build(Source.SIDECAR)["specwatch-latency"])
    (closed,) = (panel for panel in latency["panels"] if panel.get("collapsed"))
    closed["panels"][0]["targets"][0]["expr"] = "nothing_total"
    with pytest.raises(UnknownMetricError, match="nothing_total"):
        check_metrics(latency, Source.SIDECAR)


@pytest.mark.parametrize(
    ("part", "name", "change"),
    [
        ("templating", "model", {"query": {"query": "label_values(nothing_total, model)"}}),
        ("annotations", "Deploys", {"expr": "nothing_total"}),
    ],
)
def test_variables_and_annotations_are_checked(
    dashboard: dict[str, Any], part: str, name: str, change: dict[str, Any]
) -> None:
    (found,) = (one for one in dashboard[part]["list"] if one["name"] == name)
    found.update(change)
    with pytest.raises(UnknownMetricError, match=f"{name}: nobody exports or records nothing_total"):
        check_metrics(dashboard, Source.SIDECAR)


def test_without_the_scrape_sidecar_its_metrics_are_refused(dashboard: dict[str, Any]) -> None:
    dashboard["panels"][0]["targets"][0]["expr"] = "specwatch_speculation_state"
    check_metrics(dashboard, Source.SIDECAR)
    with pytest.raises(UnknownMetricError, match="specwatch_speculation_state is of the scrape sidecar"):
        check_metrics(dashboard, Source.ENGINE)


def test_what_only_the_sidecar_lets_record_is_not_recorded_without_it() -> None:
    assert "specwatch:version_drafts:rate5m" in recorded_names(Source.SIDECAR)
    assert "specwatch:version_drafts:rate5m" not in recorded_names(Source.ENGINE)
    assert "specwatch:slo_events:increase5m" in recorded_names(Source.ENGINE)


def test_values_of_a_label_over_all_series_are_refused() -> None:
    assert label_values('label_values(up{job="a, b"}, pod)') == ('up{job="a, b"}', "pod")
    with pytest.raises(UnknownMetricError, match="all are scanned"):
        label_values("label_values(model)")


def test_what_scaling_records_is_called_as_the_dashboards_call_it() -> None:
    assert {DEMAND, PART, FREED} == FROM_SCALING
