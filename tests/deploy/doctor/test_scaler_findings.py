"""Scalers and Alertmanager: each fault is found by its code and nothing else is said; sound ones give nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.doctor.scaler_objects import AREAS, Json, asking, codes, found, scaled, text, with_spec
from specwatch_deploy.doctor.codes import CODES
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.gathering import gather, inputs_of
from specwatch_deploy.doctor.scaler_trigger import number_of

HERE = Path(__file__).parent


@pytest.mark.parametrize("code", sorted(name for name, code in CODES.items() if code.area in AREAS))
def test_every_code_has_an_input_that_shows_it(code: str) -> None:
    every = examine(inputs_of(gather([str(HERE / "faulty" / code)])))
    own = [one for one in every if CODES[one.code].area in AREAS]
    assert code in {one.code for one in own}
    extra = {one.code for one in own} - {code, "scaler-seen-at-end"}
    assert not extra
    for one in own:
        assert one.place.line, one
        assert "\n" not in one.message
        assert not one.message.endswith(".")


SOUND: dict[str, Json] = {
    "requests that wait": scaled(),
    "a ratio by value": asking("max(vllm:kv_cache_usage_perc)", "0.8", metricType="Value"),
    "a ratio of two sums": asking(
        "sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
        "0.5",
        metricType="Value",
    ),
    "one model": asking('sum by (model_name) (vllm:num_requests_waiting{model_name="m"})'),
    "or 0": asking("sum(vllm:num_requests_waiting) or vector(0)"),
    "a quantile beside what waits": asking(
        "histogram_quantile(0.95, sum by (le) (rate(vllm:request_queue_time_seconds_bucket[5m]))) "
        "and on () sum(vllm:num_requests_waiting) > 0",
        "2",
        metricType="Value",
    ),
    "one pod, by its name": asking('vllm:num_requests_waiting{pod="a"}'),
    "series of somebody else": asking("queue_depth"),
    "recorded": asking("job:waiting:sum"),
    "from 0, by a gateway": with_spec(
        minReplicaCount=0,
        triggers=[
            *scaled()["spec"]["triggers"],
            {
                "type": "prometheus",
                "metadata": {**asking("sum(rate(gateway_requests_total[1m]))")["spec"]["triggers"][0]["metadata"]},
            },
        ],
    ),
    "from 0, by a clock": with_spec(
        minReplicaCount=0,
        triggers=[*scaled()["spec"]["triggers"], {"type": "cron", "metadata": {"start": "0 6 * * *"}}],
    ),
    "a formula": with_spec(
        advanced={"scalingModifiers": {"formula": "a / 10", "target": "1", "metricType": "AverageValue"}},
        triggers=[{**scaled()["spec"]["triggers"][0], "name": "a"}],
    ),
    "a name of 54 letters": scaled() | {"metadata": {"name": "x" * 54, "namespace": "llm"}},
    "an HPA of another name": scaled()
    | {"metadata": {"name": "x" * 60, "namespace": "llm"}}
    | {"spec": {**scaled()["spec"], "advanced": {"horizontalPodAutoscalerConfig": {"name": "decode"}}}},
    "cpu beside it": with_spec(
        triggers=[*scaled()["spec"]["triggers"], {"type": "cpu", "metadata": {"value": "60"}}]
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_scaler_gives_nothing(name: str) -> None:
    assert found([text(SOUND[name])]) == []


FAULTS: dict[str, tuple[Json, list[str]]] = {
    "NaN is 0": (scaled(metadata={"ignoreNullValues": "true"}), ["scaler-null-is-zero"]),
    "to 0 without a word": (
        {**scaled(), "spec": {key: value for key, value in scaled()["spec"].items() if key != "minReplicaCount"}},
        ["scaler-blind-at-zero"],
    ),
    "sidecar series are per pod": (asking("specwatch_request_oldest_waiting_seconds"), ["scaler-several-elements"]),
    "by a label": (asking("sum by (pod) (vllm:num_requests_waiting)"), ["scaler-several-elements"]),
    "topk": (asking("topk(1, vllm:num_requests_waiting)"), []),
    "or of two labels": (
        asking('sum by (pod) (vllm:num_requests_waiting{pod="a"}) or sum(sglang:num_queue_reqs)'),
        [],
    ),
    "a share by the default type": (asking("max(vllm:kv_cache_usage_perc)", "0.8"), ["scaler-ratio-cannot-scale"]),
    "a share of 95": (asking("max(vllm:kv_cache_usage_perc)", "95"), ["scaler-threshold-unreachable"]),
    "a share within the tolerance": (
        asking("max(vllm:kv_cache_usage_perc)", "0.95"),
        ["scaler-threshold-unreachable"],
    ),
    "above what is asked for": (
        asking("max(vllm:num_requests_running) * 0 + 60"),
        ["scaler-threshold-always-exceeded"],
    ),
    "idle quantile by average": (
        asking("histogram_quantile(0.95, sum by (le) (rate(vllm:request_queue_time_seconds_bucket[5m])))", "0.1"),
        ["scaler-threshold-always-exceeded", "scaler-seen-at-end"],
    ),
    "no address": (scaled(metadata={"serverAddress": "prometheus:9090"}), ["scaler-missing-address"]),
    "no query": (scaled(metadata={"query": ""}), ["scaler-trigger-invalid"]),
    "no number": (scaled(metadata={"threshold": "five"}), ["scaler-trigger-invalid"]),
    "minimum above maximum": (with_spec(minReplicaCount=11), ["scaler-trigger-invalid"]),
    "idle above minimum": (with_spec(idleReplicaCount=1), ["scaler-trigger-invalid"]),
    "negative fallback": (with_spec(fallback={"failureThreshold": 3, "replicas": -1}), ["scaler-fallback-invalid"]),
    "unknown behavior": (
        with_spec(fallback={"failureThreshold": 3, "replicas": 1, "behavior": "hold"}),
        ["scaler-fallback-invalid"],
    ),
    "target of a formula": (
        with_spec(
            advanced={"scalingModifiers": {"formula": "max(a, 1)", "target": "0.5"}},
            triggers=[{**scaled()["spec"]["triggers"][0], "name": "a"}],
        ),
        ["scaler-fallback-invalid"],
    ),
    "a formula over a name that is none": (
        with_spec(
            advanced={"scalingModifiers": {"formula": "let x = a; x + b", "target": "1"}},
            triggers=[{**scaled()["spec"]["triggers"][0], "name": "a"}],
        ),
        ["scaler-trigger-invalid"],
    ),
    "a formula over a trigger without a name": (
        with_spec(advanced={"scalingModifiers": {"formula": "1", "target": "1"}}),
        ["scaler-trigger-invalid"],
    ),
    "a long name": (scaled() | {"metadata": {"name": "x" * 55}}, ["scaler-name-too-long"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_code(name: str) -> None:
    body, expected = FAULTS[name]
    assert codes([text(body)]) == expected


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("5", 5.0),
        ("500m", 0.5),
        ("2k", 2000.0),
        ("1Ki", 1024.0),
        (3, 3.0),
        ("five", None),
        ("", None),
        (True, None),
    ],
)
def test_quantities(said: object, value: float | None) -> None:
    assert number_of(said) == value


ODD: list[Callable[[], Any]] = [
    lambda: {"spec": None},
    lambda: {"spec": {"triggers": "none"}},
    lambda: {"spec": {"triggers": [None, 5, {"type": "prometheus"}, {"type": "prometheus", "metadata": []}]}},
    lambda: {
        "spec": {
            "triggers": [{"type": "prometheus", "metricType": 5, "metadata": {"query": "sum(", "threshold": []}}]
        }
    },
    lambda: {
        "metadata": None,
        "spec": {"fallback": {"replicas": "x"}, "scaleTargetRef": "x", "minReplicaCount": "x"},
    },
]


@pytest.mark.parametrize("number", range(len(ODD)))
def test_odd_objects_do_not_break_anything(number: int) -> None:
    body = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", **ODD[number]()}
    odd_hpa = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "spec": {"metrics": [{"type": "External"}]},
    }
    found([text(body, odd_hpa), json.dumps({"externalRules": [None, {"seriesQuery": 5}, {"seriesQuery": "{"}]})])
