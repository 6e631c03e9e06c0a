"""Scalers that are kinds of their own, and triggers of KEDA inside other texts: what they read is examined too."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from deploy.doctor.doctor_run import ask

NEWEST = ("vllm@0.33.0", "sglang@0.5.23")
OLD, NEW = "gpu_cache_usage_perc", "kv_cache_usage_perc"
UNREACHABLE = "scaler-threshold-unreachable"


def told(*bodies: Any) -> list[tuple[str, str]]:
    files = {f"{number}.yaml": yaml.safe_dump(body, sort_keys=False) for number, body in enumerate(bodies)}
    return sorted((one.code, one.mended) for one in ask(files=files, engines=NEWEST))


def aibrix(metric: str, target: str, source: str = "pod") -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling.aibrix.ai/v1alpha1",
        "kind": "PodAutoscaler",
        "metadata": {"name": "decode"},
        "spec": {
            "scalingStrategy": "KPA",
            "minReplicas": 1,
            "maxReplicas": 8,
            "metricsSources": [{"metricSourceType": source, "targetMetric": metric, "targetValue": target}],
            "scaleTargetRef": {"kind": "Deployment", "name": "decode"},
        },
    }


def kthena(metrics: list[dict[str, Any]], sources: dict[str, Any]) -> dict[str, Any]:
    target = {"targetRef": {"kind": "ModelServing", "name": "m"}, "metricSources": sources}
    return {
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "AutoscalingPolicy",
        "metadata": {"name": "p"},
        "spec": {"metrics": metrics, "homogeneousTarget": {"minReplicas": 1, "maxReplicas": 6, "target": target}},
    }


def kserve(query: str, target: dict[str, str]) -> dict[str, Any]:
    metric = {"backend": "prometheus", "serverAddress": "http://prometheus.example.com:9090", "query": query}
    external = {"type": "External", "external": {"metric": metric, "target": target}}
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "q"},
        "spec": {"predictor": {"minReplicas": 1, "maxReplicas": 5, "autoScaling": {"metrics": [external]}}},
    }


def knative(metric: str, target: str) -> dict[str, Any]:
    notes = {"class": "hpa.autoscaling.knative.dev", "metric": metric, "target": target}
    annotations = {f"autoscaling.knative.dev/{key}": value for key, value in notes.items()}
    return {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"template": {"metadata": {"annotations": annotations}}},
    }


POD = {"pod": {"name": f"vllm:{OLD}", "uri": "/metrics", "port": 8000}}
SERVER = {"prometheus": {"serverURL": "http://prometheus.example.com:9090", "query": "vllm:num_requests_waiting"}}
FAULTS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "AIBrix, renamed, in percent": (aibrix(OLD, "50"), [("metric-renamed", NEW), (UNREACHABLE, "")]),
    "AIBrix, a sum since the start": (
        aibrix("e2e_request_latency_seconds_sum", "10000"),
        [("counter-without-rate", ""), ("scaler-seen-at-end", "")],
    ),
    "AIBrix, before sources": (
        {**aibrix("x", "1"), "spec": {"maxReplicas": 2, "targetMetric": OLD, "targetValue": "0.5"}},
        [("metric-renamed", NEW)],
    ),
    "kthena, a series of pods": (
        kthena([{"name": "kv", "targetValue": "80"}], {"kv": POD}),
        [("metric-renamed", f"vllm:{NEW}"), (UNREACHABLE, "")],
    ),
    "kthena, several elements": (
        kthena([{"name": "w", "targetValue": "5"}], {"w": SERVER}),
        [("scaler-several-elements", "sum(vllm:num_requests_waiting)")],
    ),
    "kthena, without sources": (
        kthena([{"metricName": "vllm_num_requests_waiting", "targetValue": "5"}], {}),
        [("metric-misspelt", "vllm:num_requests_waiting")],
    ),
    "KServe, in percent": (
        kserve(f"max(vllm:{NEW})", {"type": "Value", "value": "80"}),
        [(UNREACHABLE, "")],
    ),
    "KServe, several elements": (
        kserve("vllm:num_requests_running", {"type": "Value", "value": "2"}),
        [("scaler-several-elements", "sum(vllm:num_requests_running)")],
    ),
    "Knative": (knative(f"vllm:{OLD}", "80"), [("metric-renamed", f"vllm:{NEW}"), (UNREACHABLE, "")]),
}
SOUND = {
    "AIBrix": aibrix(NEW, "0.5"),
    "AIBrix, waiting": aibrix("num_requests_waiting", "100"),
    "AIBrix, its optimizer": aibrix("vllm:deployment_replicas", "1", "external"),
    "AIBrix, of nobody": aibrix("queue_depth", "80"),
    "kthena": kthena(
        [{"name": "kv", "targetValue": "0.8"}, {"name": "w", "targetValue": "5"}],
        {"kv": {"pod": {"name": f"vllm:{NEW}"}}, "w": {"prometheus": {"query": "sum(vllm:num_requests_waiting)"}}},
    ),
    "kthena's own names": kthena([{"metricName": "kthena:num_requests_waiting", "targetValue": "5"}], {}),
    "KServe": kserve(
        'sum(vllm:num_requests_running{model_name="q"})', {"type": "AverageValue", "averageValue": "2"}
    ),
    "Knative's own": knative("concurrency", "100"),
    "another group": {**aibrix(OLD, "50"), "apiVersion": "example.com/v1"},
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_kind_is_found(name: str) -> None:
    body, expected = FAULTS[name]
    assert told(body) == expected


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_one_gives_nothing(name: str) -> None:
    assert told(SOUND[name]) == []


def test_the_target_of_a_role_counts_for_the_role() -> None:
    body = kthena([{"name": "kv", "targetValue": "0.8"}], {})
    role = {"minReplicas": 1, "maxReplicas": 4, "metricSources": {"kv": {"pod": {"name": f"vllm:{NEW}"}}}}
    del body["spec"]["homogeneousTarget"]
    body["spec"]["disaggregatedTarget"] = {"roles": {"decode": role}}
    assert told(body) == []
    role["metrics"] = [{"name": "kv", "targetValue": "80"}]
    assert told(body) == [(UNREACHABLE, "")]


def test_metrics_of_pods_of_kserve_are_named() -> None:
    body = kserve("up", {})
    metric = {"backend": "opentelemetry", "metricNames": [f"vllm:{OLD}"], "query": f"vllm:{OLD}"}
    body["spec"]["predictor"]["autoScaling"]["metrics"] = [
        {"type": "PodMetric", "podmetric": {"metric": metric, "target": {"type": "Value", "value": "0.5"}}}
    ]
    assert told(body) == [("metric-renamed", f"vllm:{NEW}")]


TRIGGER = {
    "type": "prometheus",
    "metadata": {"query": 'vllm:num_requests_waiting{model="llama"}', "threshold": "5"},
}
IN_TRIGGER = ["label-unknown", "scaler-null-is-zero", "scaler-several-elements"]


@pytest.mark.parametrize(
    "body",
    [
        {"servingEngineSpec": {"modelSpec": [{"name": "a", "keda": {"enabled": True, "triggers": [TRIGGER]}}]}},
        {"triggers": [TRIGGER]},
        [TRIGGER],
        {"apiVersion": "serving.example.com/v1", "kind": "Model", "spec": {"scaling": {"triggers": [TRIGGER]}}},
    ],
    ids=["values of a chart", "an excerpt", "a list", "another kind"],
)
def test_a_trigger_is_examined_wherever_it_stands(body: Any) -> None:
    assert [code for code, _ in told(body)] == IN_TRIGGER


def test_a_number_in_values_is_quoted_by_the_template() -> None:
    metadata = {"query": "sum(vllm:num_requests_waiting)", "threshold": 5, "ignoreNullValues": "false"}
    trigger = {"type": "prometheus", "metadata": metadata}
    assert told({"keda": {"triggers": [trigger]}}) == []


def hpa(name: str) -> dict[str, Any]:
    metric = {
        "type": "Pods",
        "pods": {"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": "800m"}},
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3, "metrics": [metric]},
    }


def test_a_name_behind_which_the_series_is_gone() -> None:
    for name, mended in ((f"vllm_{OLD}", f"vllm_{NEW}"), (OLD, NEW)):
        assert ("metric-renamed", mended) in told(hpa(name))
    served = {"rules": [{"seriesQuery": f"vllm:{NEW}", "name": {"as": f"vllm_{OLD}"}}]}
    assert told(hpa(f"vllm_{OLD}"), served) == []
    for name in ("vllm_num_requests_waiting", "num_requests_waiting", "queue_depth", "vllm_request_success_total"):
        assert told(hpa(name)) == []
