"""Scalers and Alertmanager: each fault is found by its code and nothing else is said; sound ones give nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.doctor.doctor_run import CASES
from specwatch_deploy.doctor.codes import CODES
from specwatch_deploy.doctor.documents import documents
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.gathering import Gathered, gather, inputs_of
from specwatch_deploy.doctor.inputs import PrometheusError, Sample
from specwatch_deploy.doctor.scaler_trigger import number_of
from specwatch_deploy.scale.keda_trigger import query_value

HERE = Path(__file__).parent
AREAS = {"scalers", "alertmanager"}
Json = dict[str, Any]


@dataclass
class KnownPrometheus:
    """Answers with the same series to every query."""

    now: list[float] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)
    broken: bool = False

    def instant(self, query: str) -> list[Sample]:
        del query
        if self.broken:
            raise PrometheusError("bad_data: parse error")
        return [({"pod": str(number)}, value) for number, value in enumerate(self.now)]

    def range(self, query: str, days: float) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
        del query, days
        if self.broken:
            raise PrometheusError("bad_data: parse error")
        return [({}, [(60.0 * at, value) for at, value in enumerate(row)]) for row in self.history]


def found(texts: Iterable[str], prometheus: KnownPrometheus | None = None) -> list[Finding]:
    """Findings of the areas that are tested here."""
    read = Gathered([one for number, text in enumerate(texts) for one in documents(text, f"{number}.yaml")])
    every = examine(inputs_of(read, prometheus=prometheus))
    return [one for one in every if CODES[one.code].area in AREAS]


def codes(texts: Iterable[str], prometheus: KnownPrometheus | None = None) -> list[str]:
    return [one.code for one in found(texts, prometheus)]


def scaled(**trigger: Any) -> Json:
    """A ScaledObject that is right."""
    metadata = {
        "serverAddress": "http://prometheus.example.com:9090",
        "query": 'sum(vllm:num_requests_waiting{namespace="llm"})',
        "threshold": "5",
        "ignoreNullValues": "false",
    }
    metadata |= trigger.pop("metadata", {})
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "decode", "namespace": "llm"},
        "spec": {
            "scaleTargetRef": {"name": "decode"},
            "minReplicaCount": 1,
            "maxReplicaCount": 10,
            "fallback": {"failureThreshold": 4, "replicas": 2, "behavior": "currentReplicasIfHigher"},
            "triggers": [{"type": "prometheus", "metadata": metadata, **trigger}],
        },
    }


def asking(query: str, threshold: str = "5", **more: Any) -> Json:
    made = scaled(metadata={"query": query, "threshold": threshold}, **more)
    if more.get("metricType") == "Value":
        del made["spec"]["fallback"]
    return made


def text(*objects: Json) -> str:
    return yaml.safe_dump_all(objects, sort_keys=False)


def with_spec(**spec: Any) -> Json:
    found = scaled()
    found["spec"] |= spec
    return found


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


def hpa(name: str = "decode", **metadata: Any) -> Json:
    external = {"metric": {"name": "kv_use"}, "target": {"type": "AverageValue", "averageValue": "800m"}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "llm", **metadata},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "decode"},
            "minReplicas": 1,
            "maxReplicas": 10,
            "metrics": [{"type": "External", "external": external}],
        },
    }


def test_two_scalers_of_one_workload() -> None:
    assert codes([text(scaled(), hpa())]) == ["scaler-two-owners"]
    other = scaled()
    other["metadata"]["name"] = "decode-2"
    assert codes([text(scaled(), other)]) == ["scaler-two-owners"]
    elsewhere = scaled()
    elsewhere["metadata"]["namespace"] = "other"
    assert codes([text(scaled(), elsewhere)]) == []


def test_an_hpa_that_keda_made_or_took_over_is_its_own() -> None:
    owned = hpa("keda-hpa-decode", ownerReferences=[{"kind": "ScaledObject", "name": "decode"}])
    assert codes([text(scaled(), owned)]) == []
    handed = scaled()
    handed["metadata"]["annotations"] = {"scaledobject.keda.sh/transfer-hpa-ownership": "true"}
    handed["spec"]["advanced"] = {"horizontalPodAutoscalerConfig": {"name": "decode"}}
    assert codes([text(handed, hpa())]) == []


def test_the_same_object_in_two_files_is_one_owner() -> None:
    assert codes([text(scaled()), text(scaled())]) == []


def adapter(series: str, query: str, name: str = "kv_use") -> str:
    return json.dumps({"externalRules": [{"seriesQuery": series, "metricsQuery": query, "name": {"as": name}}]})


def test_a_threshold_of_an_hpa_is_held_against_the_adapters_query() -> None:
    rule = adapter("vllm:kv_cache_usage_perc", "max(<<.Series>>{<<.LabelMatchers>>})")
    assert codes([text(hpa()), rule]) == ["scaler-ratio-cannot-scale"]
    by_value = hpa()
    by_value["spec"]["metrics"][0]["external"]["target"] = {"type": "Value", "value": "800m"}
    assert codes([text(by_value), rule]) == []


def test_an_adapter_may_serve_what_it_likes_beside_keda_but_external_metrics() -> None:
    custom = yaml.safe_dump({"rules": [{"seriesQuery": "vllm:num_requests_waiting"}]})
    assert codes([text(scaled()), custom]) == []
    assert codes([text(scaled()), adapter("vllm:num_requests_waiting", "sum(<<.Series>>)")]) == [
        "scaler-two-servers"
    ]


def test_queries_of_the_adapter_are_examined_like_others() -> None:
    """A pattern that is one name is that name; the placeholders are filled in."""
    (rule,) = inputs_of(gather([str(CASES / "41-colon-underscore-and-total" / "adapter.yaml")])).queries
    assert rule.text == 'sum(vllm:num_requests_waiting{namespace!=""}) by (pod)'
    assert rule.place.line == 10


def test_the_reported_case_of_an_empty_result() -> None:
    """KEDA makes 0 of an empty vector, and at 0 replicas the series of the pods are empty."""
    case = CASES / "38-keda-empty-result-becomes-zero"
    expected = json.loads((case / "expected.json").read_text())
    answer = json.loads((case / "prometheus_response.json").read_text())["data"]["result"]
    assert query_value([float(one["value"][1]) for one in answer], ignore_null=True) == expected["keda_value"]
    findings = found([(case / "scaledobject.yaml").read_text()])
    names = {"scaler-null-is-zero": "ignoreNullValues", "scaler-blind-at-zero": "scale_from_zero"}
    assert sorted(names[one.code] for one in findings) == sorted(expected["lint"])
    assert [one.place.line for one in findings] == [8, 14]
    assert [one.mended for one in findings] == ["minReplicaCount: 1", 'ignoreNullValues: "false"']


def test_prometheus_counts_the_elements() -> None:
    query = asking("job:waiting:sum")
    assert codes([text(query)], KnownPrometheus(now=[1.0])) == []
    (one,) = found([text(query)], KnownPrometheus(now=[1.0, 2.0]))
    assert (one.code, one.evidence) == ("scaler-several-elements", "it gives 2 now")
    assert codes([text(asking("vllm:num_requests_waiting"))], KnownPrometheus(now=[1.0])) == []


WEEK: dict[str, tuple[list[list[float]], list[str]]] = {
    "never near": ([[0.0, 0.1, 0.3]], ["scaler-threshold-unreachable"]),
    "quiet": ([[0.0, 2.0, 4.0]], []),
    "busy at times": ([[0.0, 30.0, 90.0]], []),
    "always": ([[60.0, 70.0, 90.0]], ["scaler-threshold-always-exceeded"]),
    "no history": ([], []),
    "several": ([[60.0], [60.0]], []),
}


@pytest.mark.parametrize("name", WEEK)
def test_a_week_of_history_tells(name: str) -> None:
    history, expected = WEEK[name]
    findings = found([text(asking("job:waiting:sum"))], KnownPrometheus(history=history))
    assert [one.code for one in findings] == expected
    assert [one.severity for one in findings if one.code.endswith("unreachable")] == [
        Severity.WARNING for code in expected if code.endswith("unreachable")
    ]


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
