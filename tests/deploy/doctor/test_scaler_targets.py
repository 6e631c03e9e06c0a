"""What is scaled and by what: fixed replicas, kinds without a selector, slots, GPU utilisation, saved answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from deploy.doctor.doctor_run import ask
from specwatch_deploy.doctor.finding import Finding, Severity

NEWEST = ("vllm@0.33.0", "sglang@0.5.23")
RUNNING = "sum(vllm:num_requests_running)"
BUSY = 'avg(DCGM_FI_DEV_GPU_UTIL{pod=~"decode.*"})'


def told(*bodies: Any) -> list[Finding]:
    files = {f"{number}.yaml": yaml.safe_dump(body, sort_keys=False) for number, body in enumerate(bodies)}
    return ask(files=files, engines=NEWEST)


def scaled(*queries: str, threshold: str = "5", **spec: Any) -> dict[str, Any]:
    common = {"serverAddress": "http://prometheus.example.com:9090", "ignoreNullValues": "false"}
    triggers = [
        {
            "type": "prometheus",
            "metricType": "AverageValue",
            "metadata": {**common, "query": one, "threshold": threshold},
        }
        for one in queries
    ]
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "decode"},
        "spec": {
            "scaleTargetRef": {"name": "decode"},
            "minReplicaCount": 1,
            "maxReplicaCount": 8,
            "triggers": triggers,
            **spec,
        },
    }


def workload(*arguments: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "engine", "image": "vllm/vllm-openai:v0.25.1", "args": list(arguments)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "decode"},
        "spec": {"template": {"spec": {"containers": [container]}}, **spec},
    }


def test_replicas_of_a_manifest_beside_its_scaler() -> None:
    (one,) = told(workload(replicas=2), scaled("sum(vllm:num_requests_waiting)"))
    assert (one.code, one.place.file) == ("scaler-fixed-replicas", "0.yaml")
    assert "replicas 2" in one.message
    from_a_server = workload(replicas=2)
    from_a_server["metadata"]["resourceVersion"] = "17"
    other = workload(replicas=2)
    other["metadata"]["name"] = "prefill"
    for right in (workload(), from_a_server, other):
        assert told(right, scaled("sum(vllm:num_requests_waiting)")) == []


def test_a_kind_in_which_an_hpa_finds_no_pods() -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "modelservings.example.com"},
        "spec": {
            "names": {"kind": "ModelServing"},
            "versions": [
                {"name": "v1alpha1", "subresources": {"scale": scale}},
                {"name": "v1", "subresources": {}},
            ],
        },
    }
    (one,) = told(body)
    assert one.code == "scaler-no-selector"
    scale["labelSelectorPath"] = ".status.labelSelector"
    assert told(body) == []


@pytest.mark.parametrize(
    ("query", "threshold", "arguments", "severity"),
    [
        (RUNNING, "40", ("--max-num-seqs", "32"), Severity.ERROR),
        (RUNNING, "32", ("--max-num-seqs=32",), Severity.ERROR),
        ("sum(sglang:num_running_reqs)", "64", ("--max-running-requests", "48"), Severity.ERROR),
        ("sum(llamacpp:requests_processing)", "2", (), Severity.WARNING),
        ("sum(llamacpp:requests_processing)", "2", ("-np", "8"), None),
        (RUNNING, "24", ("--max-num-seqs", "32"), None),
        (RUNNING, "300", (), None),
        (f"{RUNNING} + sum(vllm:num_requests_waiting)", "40", ("--max-num-seqs", "32"), None),
    ],
)
def test_running_requests_end_at_the_slots(
    query: str, threshold: str, arguments: tuple[str, ...], severity: Severity | None
) -> None:
    found = told(workload(*arguments), scaled(query, threshold=threshold))
    said = [one.severity for one in found if one.code == "scaler-threshold-unreachable"]
    assert said == ([] if severity is None else [severity])


def test_the_deployment_that_kserve_makes_is_found_by_its_name() -> None:
    service = {
        "apiVersion": "serving.kserve.io/v1alpha1",
        "kind": "LLMInferenceService",
        "metadata": {"name": "decode"},
        "spec": {"template": {"containers": [{"name": "main", "args": ["--max-num-seqs=32"]}]}},
    }
    found = told(service, scaled(RUNNING, threshold="50", scaleTargetRef={"name": "decode-kserve"}))
    assert [one.code for one in found] == ["scaler-threshold-unreachable"]


@pytest.mark.parametrize(
    ("notes", "twice"),
    [
        ({"deploymentMode": "RawDeployment"}, True),
        ({"deploymentMode": "Standard", "autoscalerClass": "keda"}, True),
        ({"deploymentMode": "RawDeployment", "autoscalerClass": "external"}, False),
        ({}, False),
    ],
)
def test_a_scaler_beside_that_of_kserve(notes: dict[str, str], twice: bool) -> None:
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": "decode",
            "annotations": {f"serving.kserve.io/{key}": value for key, value in notes.items()},
        },
        "spec": {"predictor": {"minReplicas": 1, "maxReplicas": 3}},
    }
    own = scaled("sum(vllm:num_requests_waiting)", scaleTargetRef={"name": "decode-predictor"})
    assert [one.code for one in told(service, own)] == (["scaler-two-owners"] if twice else [])


def test_gpu_utilisation_alone_is_the_wrong_signal() -> None:
    (one,) = told(scaled(BUSY, threshold="80"))
    assert one.code == "scaler-wrong-signal"
    assert told(scaled(BUSY, "sum(vllm:num_requests_waiting)", threshold="80")) == []
    assert told(scaled("sum(rate(gateway_requests_total[1m]))")) == []


def test_cpu_of_what_serves_on_gpus_is_the_wrong_signal() -> None:
    by_cpu = scaled(triggers=[{"type": "cpu", "metricType": "Utilization", "metadata": {"value": "70"}}])
    assert [one.code for one in told(workload(), by_cpu)] == ["scaler-wrong-signal"]
    web = workload()
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx"
    assert told(web, by_cpu) == []
    assert told(by_cpu) == []


def answer(*values: str) -> dict[str, Any]:
    result = [{"metric": {}, "value": [1, value]} for value in values]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


@pytest.mark.parametrize(
    ("values", "null", "words"),
    [
        ((), None, "takes it for 0"),
        (("NaN",), None, "takes it for 0"),
        (("+Inf",), None, "takes it for 0"),
        ((), "false", "that is an error"),
        (("1", "2"), None, "2 elements"),
        (("3",), None, ""),
    ],
)
def test_a_saved_answer_is_what_keda_makes_of_it(values: tuple[str, ...], null: str | None, words: str) -> None:
    body = scaled("sum(vllm:num_requests_waiting)")
    meta = body["spec"]["triggers"][0]["metadata"]
    del meta["ignoreNullValues"]
    meta |= {} if null is None else {"ignoreNullValues": null}
    files = {"scaler.yaml": yaml.safe_dump(body), "answer.json": json.dumps(answer(*values), indent=1)}
    said = [one for one in ask(files=files, engines=NEWEST) if one.code == "scaler-answer"]
    assert [words in one.message for one in said] == ([True] if words else [])
    assert all(one.place.line > 1 for one in said)
