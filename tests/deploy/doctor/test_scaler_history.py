"""What a Prometheus tells of a scaler: an empty answer, the elements of its query, a week of values."""

from __future__ import annotations

import json

import pytest

from deploy.doctor.doctor_run import CASES
from deploy.doctor.scaler_objects import KnownPrometheus, asking, codes, found, text
from specwatch_deploy.doctor.finding import Severity
from specwatch_deploy.scale.keda_trigger import query_value


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
