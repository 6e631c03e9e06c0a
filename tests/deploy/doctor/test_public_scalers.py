"""Scalers as they are found in public: fields that nobody reads, means under AverageValue, metrics of pods."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from deploy.doctor.doctor_run import ask
from specwatch_deploy.doctor.finding import Finding, Severity

NEWEST = ("vllm@0.33.0", "sglang@0.5.23")
LATENCY = "histogram_quantile(0.95, sum by (le) (rate(vllm:e2e_request_latency_seconds_bucket[2m])))"
QUEUED = "vllm:request_queue_time_seconds"
WAITING = "vllm:num_requests_waiting"
OF_ONE = {
    f"avg({WAITING})": f"query: sum({WAITING})",
    f"sum({WAITING}) / (count({WAITING}) > 0)": "metricType: Value",
    f"max({WAITING})": "metricType: Value",
    LATENCY: "metricType: Value",
    f"{LATENCY} * 1000": "metricType: Value",
    f"max({WAITING}) / scalar(vector(32))": "metricType: Value",
    f"sum(rate({QUEUED}_sum[2m])) / (sum(rate({QUEUED}_count[2m])) > 0)": "metricType: Value",
    'sum(inference_pool_average_queue_size{name="p"})': "metricType: Value",
}
GROWS = (
    f"sum({WAITING})",
    f"sum({WAITING} + vllm:num_requests_running)",
    f"max(sum by (job) ({WAITING}))",
    "sum(rate(vllm:generation_tokens_total[2m])) / 1000",
    "sum(rate(vllm:generation_tokens_total[2m])) / scalar(capacity:tokens_per_replica)",
    f"sum(max by (pod) ({WAITING}))",
    f"quantile(0.9, {WAITING}) * scalar(count({WAITING}))",
    f"avg({WAITING}) * count({WAITING})",
    f"ceil(sum({WAITING}) / 8)",
)


def scaled(query: str, spec: dict[str, Any] | None = None, **metadata: str) -> str:
    trigger = {
        "serverAddress": "http://prometheus.example.com:9090",
        "query": query,
        "threshold": "5",
        "ignoreNullValues": "false",
        **metadata,
    }
    made = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "decode"},
        "spec": {
            "scaleTargetRef": {"name": "decode"},
            "minReplicaCount": 1,
            "maxReplicaCount": 10,
            "triggers": [{"type": "prometheus", "metadata": trigger}],
            **(spec or {}),
        },
    }
    return yaml.safe_dump(made, sort_keys=False)


def pods(name: str, target: dict[str, str]) -> str:
    made = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "decode"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "decode"},
            "minReplicas": 1,
            "maxReplicas": 5,
            "metrics": [{"type": "Pods", "pods": {"metric": {"name": name}, "target": target}}],
        },
    }
    return yaml.safe_dump(made, sort_keys=False)


def found(*texts: str) -> list[Finding]:
    return ask(files={f"{number}.yaml": text for number, text in enumerate(texts)}, engines=NEWEST)


@pytest.mark.parametrize("query", OF_ONE)
def test_what_stands_for_one_pod_is_not_divided_again(query: str) -> None:
    (said,) = [one for one in found(scaled(query)) if one.code == "scaler-ratio-cannot-scale"]
    assert said.severity is Severity.WARNING
    assert said.mended == OF_ONE[query]
    assert "above 45" in said.message


@pytest.mark.parametrize("query", GROWS)
def test_what_grows_with_the_load_is_left_alone(query: str) -> None:
    assert [one for one in found(scaled(query)) if one.code == "scaler-ratio-cannot-scale"] == []


def test_a_setting_where_nobody_reads_it() -> None:
    inside = found(scaled(f"sum({WAITING})", metricType="Value"))
    assert [(one.code, one.mended) for one in inside] == [
        ("scaler-trigger-invalid", "metricType: Value, beside type and metadata")
    ]
    wrong = found(scaled(f"sum({WAITING})", {"maxReplicas": 10}))
    assert ["maxReplicaCount is meant" in one.message for one in wrong] == [True]


def test_a_metric_of_pods_is_held_against_its_range() -> None:
    (percent,) = found(pods("vllm_kv_cache_usage_perc", {"type": "AverageValue", "averageValue": "80"}))
    assert percent.code == "scaler-threshold-unreachable"
    assert found(pods("vllm_kv_cache_usage_perc", {"type": "AverageValue", "averageValue": "800m"})) == []
    assert found(pods("vllm_num_requests_waiting", {"type": "AverageValue", "averageValue": "5"})) == []
    assert found(pods("queue_depth", {"type": "AverageValue", "averageValue": "80"})) == []
    (refused,) = found(pods("vllm_num_requests_waiting", {"type": "Value", "value": "5"}))
    assert refused.code == "scaler-trigger-invalid"


def test_a_rule_of_the_adapter_says_what_a_metric_of_pods_is() -> None:
    rule = {"seriesQuery": "vllm:kv_cache_usage_perc", "name": {"as": "fullness"}}
    target = {"type": "AverageValue", "averageValue": "80"}
    plain = found(pods("fullness", target), yaml.safe_dump({"rules": [rule]}))
    assert [one.code for one in plain] == ["scaler-threshold-unreachable"]
    percent = "100 * avg(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
    assert found(pods("fullness", target), yaml.safe_dump({"rules": [{**rule, "metricsQuery": percent}]})) == []


def test_a_renamed_series_in_the_name_of_a_metric() -> None:
    target = {"type": "AverageValue", "averageValue": "800m"}
    (gone,) = found(pods("prometheus.googleapis.com|vllm:gpu_cache_usage_perc|gauge", target))
    assert (gone.code, gone.mended) == (
        "metric-renamed",
        "prometheus.googleapis.com|vllm:kv_cache_usage_perc|gauge",
    )
    assert found(pods("prometheus.googleapis.com|vllm:kv_cache_usage_perc|gauge", target)) == []


def test_a_share_that_is_written_in_percent_is_mended() -> None:
    text = scaled("max(sglang:token_usage)", threshold="85").replace(
        "  - type:", "  - metricType: Value\n    type:"
    )
    (said,) = found(text)
    assert (said.code, said.mended) == ("scaler-threshold-unreachable", 'threshold: "0.85"')


@pytest.mark.parametrize(
    ("query", "severity"),
    [
        ('max(inference_pool_average_queue_size{name="p"})', Severity.ERROR),
        ("sum(llm_d_epp_flow_control_queue_size)", Severity.WARNING),
        ("sum(rate(gateway_requests_total[1m]))", None),
    ],
)
def test_what_an_endpoint_picker_exports_of_no_pod_wakes_none(query: str, severity: Severity | None) -> None:
    said = [
        one.severity for one in found(scaled(query, {"minReplicaCount": 0})) if one.code == "scaler-blind-at-zero"
    ]
    assert said == ([] if severity is None else [severity])


def test_a_quantile_or_zero_is_one_element() -> None:
    said = [one.code for one in found(scaled(f"{LATENCY} or vector(0)"))]
    assert "scaler-several-elements" not in said
    by_pod = LATENCY.replace("by (le)", "by (le, pod)")
    assert "scaler-several-elements" in [one.code for one in found(scaled(f"{by_pod} or vector(0)"))]


def test_the_adapters_values_inside_a_release_of_flux() -> None:
    rule = {"seriesQuery": 'vllm:num_requests_running{namespace!="",pod!=""}', "name": {"as": "running"}}
    rule["metricsQuery"] = "rate(<<.Series>>{<<.LabelMatchers>>}[2m])"
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "adapter"},
        "spec": {"values": {"rules": {"custom": [rule]}}},
    }
    (said,) = found(yaml.safe_dump(release))
    assert (said.code, said.mended) == ("gauge-under-rate", 'vllm:num_requests_running{namespace!="",pod!=""}')
