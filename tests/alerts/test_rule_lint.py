"""The lint: one broken rule for each finding, its mended twin, and our own rules clean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from specwatch_alerts.finding import CODES
from specwatch_alerts.label_values import CLOSED
from specwatch_alerts.lint import RuleFileError, lint
from specwatch_alerts.metric_facts import facts_of
from specwatch_alerts.origin import Origin
from specwatch_alerts.rule_build import build
from specwatch_alerts.values import load_values

CASE_47 = Path(__file__).parents[1] / "cases" / "47-ratio-alert-zero-traffic" / "rules.yml"
ACCEPTED, DRAFTED = "specwatch_accepted_tokens_total", "specwatch_draft_tokens_total"
# Code, an expression that has it, and one that says the same without it.
PAIRS = [
    ("rate-on-gauge", "rate(specwatch_requests_running[5m]) > 1", "deriv(specwatch_requests_running[5m]) > 1"),
    ("rate-on-gauge", "increase(vllm:kv_cache_usage_perc[5m]) > 1", "delta(vllm:kv_cache_usage_perc[5m]) > 1"),
    ("rate-on-gauge", "rate(specwatch:known[5m]) > 1", "avg_over_time(specwatch:known[5m]) > 1"),
    ("counter-without-rate", "specwatch_preemptions_total > 5", "increase(specwatch_preemptions_total[5m]) > 5"),
    ("counter-without-rate", "sum(strangers_total) > 5", "sum(rate(strangers_total[5m])) > 5"),
    (
        "counter-without-rate",
        "up and sum(vllm:num_preemptions_total) > 5",
        "up unless on () vllm:num_preemptions_total",
    ),
    ("impossible-label", 'specwatch_requests_running{modle="x"} > 1', 'specwatch_requests_running{model="x"} > 1'),
    (
        "impossible-label",
        "sum by (model) (vllm:num_requests_running) > 1",
        "sum by (model_name) (vllm:num_requests_running) > 1",
    ),
    (
        "impossible-label",
        "sum by (version) (specwatch_requests_running * on (pod) group_left () specwatch_engine_info) > 1",
        "sum by (version) (specwatch_requests_running * on (pod) group_left (version) specwatch_engine_info) > 1",
    ),
    (
        "impossible-label",
        'specwatch_drift_state{state="drifting"} == 1',
        'specwatch_drift_state{state="drifted"} == 1',
    ),
    (
        "impossible-label",
        'rate(specwatch_request_finished_total{outcome=~"error|fail"}[5m]) > 1',
        'rate(specwatch_request_finished_total{outcome=~"error|cut"}[5m]) > 1',
    ),
    (
        "impossible-label",
        'specwatch_speculation_state{state=~"act.+y"} == 1',
        'specwatch_speculation_state{state=~"act.+"} == 1',
    ),
    ("impossible-label", 'specwatch:known{pod="x"} > 1', 'specwatch:known{model="x"} > 1'),
    (
        "impossible-label",
        'increase(specwatch_request_queue_wait_seconds_bucket{le="0.3"}[5m]) > 1',
        'increase(specwatch_request_queue_wait_seconds_bucket{le="0.25"}[5m]) > 1',
    ),
    (
        "unguarded-ratio",
        f"rate({ACCEPTED}[5m]) / rate({DRAFTED}[5m]) < 0.3",
        f"rate({ACCEPTED}[5m]) / (rate({DRAFTED}[5m]) > 0) < 0.3",
    ),
    ("unguarded-ratio", "sum(a) / sum(b) > 1", "sum(a) / (sum(b) >= 100) > 1"),
    ("unguarded-ratio", "a / (b >= 0) > 1", "a / clamp_min(b, 1) > 1"),
    (
        "nan-is-true",
        "histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m]))) != 1",
        "histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m]))) > 1",
    ),
    ("nan-is-true", "((a / b) >= bool 0.3) == 0", "(a / (b > 0)) < 0.3"),
    ("absent-as-zero", "(a or vector(0)) < 1", "a < 1"),
    ("fragile", "topk(3, a) > 1", "max by (model) (a) > 1"),
    ("fragile", "sum by (pod) (a) > sum by (model) (b)", "sum by (pod) (a) > on () sum by (model) (b)"),
    (
        "short-window",
        "increase(specwatch_preemptions_total[30s]) > 1",
        "increase(specwatch_preemptions_total[1m]) > 1",
    ),
    ("short-window", "max_over_time(a[5m:5m]) > 1", "max_over_time(a[30m:5m]) > 1"),
    ("version", "histogram_avg(a) > 1", "histogram_quantile(0.9, a) > 1"),
    (
        "version",
        'increase(vllm:time_to_first_token_seconds_bucket{le="1"}[5m]) > 1',
        r'increase(vllm:time_to_first_token_seconds_bucket{le=~"1(\\.0)?"}[5m]) > 1',
    ),
    ("unknown-metric", "specwatch_acceptence_ratio < 0.3", "specwatch_acceptance_ratio < 0.3"),
    ("unknown-metric", "specwatch:unknown < 0.3", "specwatch:known < 0.3"),
    ("syntax", "sum(a", "sum(a) > 1"),
]


def file_of(expr: str, **change: Any) -> dict[str, Any]:
    alert = {"alert": "A", "expr": expr, "for": "5m", "labels": {}, "annotations": {"summary": "S"}, **change}
    known = {"record": "specwatch:known", "expr": "sum by (model) (rate(specwatch_drafts_total[5m]))"}
    return {"groups": [{"name": "g", "rules": [known, alert]}]}


def codes(document: Any) -> set[str]:
    return {finding.code for finding in lint(document)}


@pytest.mark.parametrize(("code", "broken", "mended"), PAIRS)
def test_the_fault_is_found_and_its_mended_form_is_clean(code: str, broken: str, mended: str) -> None:
    assert codes(file_of(broken)) >= {code}
    assert codes(file_of(mended)) == set()


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("short-for", {"for": "20s"}),
        ("short-for", {"for": None}),
        ("value-in-label", {"labels": {"burn": "{{ $value }}"}}),
        ("value-in-summary", {"annotations": {"summary": "{{ $value }} wait"}}),
        ("value-in-summary", {"annotations": {"summary": "{{ $labels.model }} is slow"}}),
    ],
)
def test_faults_beside_the_expression(code: str, change: dict[str, Any]) -> None:
    document = file_of("up == 0", **change)
    if change.get("for", "") is None:
        del document["groups"][0]["rules"][1]["for"]
    assert codes(document) == {code}


def test_keys_of_a_group_that_2_42_does_not_have() -> None:
    document = file_of("up == 0")
    document["groups"][0]["query_offset"] = "30s"
    assert codes(document) == {"version"}


@pytest.mark.parametrize("matcher", ['state!="drifting"', 'state=""', 'state=~".*"', 'traffic_class="anything"'])
def test_values_that_select_something_are_left_alone(matcher: str) -> None:
    assert codes(file_of(f"specwatch_drift_state{{{matcher}}} == 1")) == set()


KEPT = (
    "sum by (model_name) (topk(5, vllm:num_requests_running)) > 1",
    'sum by (value) (count_values("value", vllm:num_requests_running)) > 1',
    'sum by (m) (label_join(vllm:num_requests_running, "m", "-", "model_name", "engine")) > 1',
    "sum by (model_name) (up * on (pod) group_right () vllm:num_requests_running) > 1",
    "sum by (model_name) (scalar(up) * vllm:num_requests_running) > 1",
)


@pytest.mark.parametrize("expression", KEPT)
def test_labels_that_functions_and_aggregations_keep_or_make(expression: str) -> None:
    assert "impossible-label" not in codes(file_of(expression))


def test_closed_sets_are_of_metrics_and_labels_that_exist() -> None:
    for name, label in CLOSED:
        facts = facts_of(name)
        assert facts is not None
        assert label in facts.labels


def test_every_code_has_a_fault_that_shows_it() -> None:
    assert {code for code, _, _ in PAIRS} | {"short-for", "value-in-label", "value-in-summary"} == set(CODES)


def test_the_reported_ratio_alerts_are_found() -> None:
    found = {(finding.rule, finding.code) for finding in lint(yaml.safe_load(CASE_47.read_text()))}
    assert ("OrVectorZero", "absent-as-zero") in found
    assert ("NotAbove", "nan-is-true") in found
    assert ("NaiveRatio", "unguarded-ratio") in found
    assert not [rule for rule, _ in found if rule == "GuardedDenominator"]


@pytest.mark.parametrize("origin", Origin)
def test_our_own_rules_are_clean(origin: Origin) -> None:
    assert lint(build(load_values(), origin, "vllm")) == []


@pytest.mark.parametrize("origin", Origin)
def test_every_metric_of_our_rules_is_known_and_a_misspelt_one_is_found(origin: Origin) -> None:
    text = json.dumps(build(load_values(), origin))
    misspelt = text.replace("specwatch:slo_events:sum1h{", "specwatch:slo_event:sum1h{")
    assert misspelt != text
    assert codes(json.loads(misspelt)) == {"unknown-metric"}


@pytest.mark.parametrize("document", [None, [], {}, {"groups": 3}, {"groups": [3]}, {"spec": {}}, "text"])
def test_a_file_without_rules_is_refused_in_one_line(document: Any) -> None:
    with pytest.raises(RuleFileError, match="it holds no rule groups"):
        lint(document)


def test_a_prometheusrule_is_read_as_well() -> None:
    assert codes({"kind": "PrometheusRule", "spec": file_of("topk(1, a)")}) == {"fragile"}
