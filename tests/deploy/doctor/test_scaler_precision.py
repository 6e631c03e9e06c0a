"""Scalers that are right, after public ones: roles of one object, values put in later, shares that are added up."""

from __future__ import annotations

import json

import pytest

from deploy.doctor.doctor_run import alert, ask
from deploy.doctor.scaler_objects import asking, codes, found, scaled, text
from specwatch_deploy.doctor.finding import Severity

ROLE = """apiVersion: autoscaling.aibrix.ai/v1alpha1
kind: PodAutoscaler
metadata: {{name: pool-{role}, namespace: default}}
spec:
  scaleTargetRef: {{apiVersion: orchestration.aibrix.ai/v1alpha1, kind: StormService, name: pool}}
  subTargetSelector: {{roleName: {role}}}
  minReplicas: 2
  maxReplicas: 20
  metricsSources:
  - {{metricSourceType: pod, targetMetric: num_requests_waiting, targetValue: "10"}}
"""


def test_roles_of_one_object_have_a_scaler_each() -> None:
    """AIBrix scales prefill and decode of a StormService by themselves."""
    assert codes([ROLE.format(role="prefill"), ROLE.format(role="decode")]) == []
    again = ROLE.format(role="decode").replace("pool-decode", "second")
    assert codes([ROLE.format(role="decode"), again]) == ["scaler-two-owners"]


PLACEHOLDERS = (
    "${PROMETHEUS_ENDPOINT}",
    "$(PROMETHEUS)",
    "<prometheus-url>",
    "{{ .Values.url }}",
    "$PROMETHEUS_URL",
)


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_what_is_put_in_later_is_not_judged(value: str) -> None:
    body = scaled(metadata={"serverAddress": value, "threshold": value})
    body["metadata"]["name"] = "x" * 60 + value
    body["spec"] |= {"maxReplicaCount": value, "fallback": {"failureThreshold": 3, "replicas": value}}
    assert codes([text(body)]) == []


def test_an_end_that_is_put_in_later_caps_nothing() -> None:
    body = asking("max(vllm:kv_cache_usage_perc)", "0.8")
    body["spec"]["maxReplicaCount"] = "${MAX}"
    assert codes([text(body)]) == []


def test_shares_are_added_up_for_a_scaler_that_divides() -> None:
    """llm-d: full caches' worth of pods over 0.8; a maximum would stop at two replicas."""
    body = asking("sum(vllm:kv_cache_usage_perc)", "0.8")
    assert [one.code for one in ask(files={"s.yaml": text(body)})] == []
    by_value = asking("sum(vllm:kv_cache_usage_perc)", "0.8", metricType="Value")
    assert [one.code for one in ask(files={"s.yaml": text(by_value)})] == ["ratio-summed"]


def test_replicas_that_are_asked_for_above_a_value() -> None:
    """ceil(value / 5) is 10 above 45."""
    (one,) = found([text(asking("avg(vllm:num_requests_waiting)"))])
    assert one.message.endswith("10 of them are asked for only above 45")


def test_a_name_that_an_adapter_serves_may_be_a_percentage() -> None:
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "decode"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "decode"},
            "minReplicas": 1,
            "maxReplicas": 4,
            "metrics": [
                {
                    "type": "Pods",
                    "pods": {
                        "metric": {"name": "vllm_kv_cache_usage_perc"},
                        "target": {"type": "AverageValue", "averageValue": "70"},
                    },
                }
            ],
        },
    }
    (one,) = found([json.dumps(body)])
    assert (one.code, one.severity) == ("scaler-threshold-unreachable", Severity.WARNING)
    assert one.evidence.endswith("a rule of an adapter may serve another value by this name")
    colon = json.dumps(body).replace("vllm_kv", "vllm:kv")
    (sure,) = found([colon])
    assert (sure.code, sure.severity) == ("scaler-threshold-unreachable", Severity.ERROR)


def test_a_rate_is_not_mended_into_one_of_a_gauge() -> None:
    (one,) = ask(files=alert("rate(sglang:num_retracted_reqs_total[5m]) > 10"), engines=["sglang@0.5.23"])
    assert (one.code, one.mended) == ("metric-misspelt", "")
