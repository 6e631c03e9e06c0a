"""Published cases: Kubernetes' documentation of the HPA, and its podautoscaler/replica_calculator_test.go."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_deploy.scale.hpa_metric import (
    ExternalTarget,
    MetricError,
    PodUse,
    Replicas,
    TargetType,
    Tolerance,
    pods_proposal,
)

USUAL = Tolerance()


def uses(*values: float | None, ready: tuple[bool, ...] = ()) -> list[PodUse]:
    return [PodUse(value, ready[index] if ready else True) for index, value in enumerate(values)]


@pytest.mark.parametrize(
    ("pods", "target", "current", "expected"),
    [
        pytest.param(uses(200), 100.0, 1, 2, id="the documentation's doubling"),
        pytest.param(uses(50, 50), 100.0, 2, 1, id="the documentation's halving"),
        pytest.param(uses(30, 50, 70), 30.0, 3, 5, id="scale up"),
        pytest.param(uses(30, 50, 70, ready=(False, True, True)), 30.0, 3, 4, id="unready pods, less scale-up"),
        pytest.param(uses(40, 50, 70, ready=(True, False, False)), 30.0, 3, 3, id="unready pods, none"),
        pytest.param(uses(40, 95), 100.0, 2, 2, id="half of the metrics, nothing missing: ceil"),
        pytest.param(uses(40, 9.5, None, None), 100.0, 4, 3, id="missing metrics, scale down"),
        pytest.param(uses(100, None), 100.0, 2, 2, id="missing, at the target"),
        pytest.param(uses(190, None), 100.0, 2, 2, id="missing, above"),
        pytest.param(uses(60, None), 100.0, 2, 2, id="missing, below"),
        pytest.param(uses(10, 30, 50, 10, 70), 100.0, 5, 2, id="scale down"),
        pytest.param(uses(101, 103, 102), 100.0, 3, 3, id="within the tolerance"),
    ],
)
def test_metrics_per_pod(pods: list[PodUse], target: float, current: int, expected: int) -> None:
    assert pods_proposal(pods, target, current, USUAL) == expected


def test_no_metric_of_a_ready_pod_is_an_error() -> None:
    with pytest.raises(MetricError):
        pods_proposal(uses(None, 50, ready=(True, False)), 100.0, 2, USUAL)


@pytest.mark.parametrize(
    ("kind", "target", "value", "replicas", "expected"),
    [
        (TargetType.VALUE, 4.4, 8.6, Replicas(1, 1, 1), 2),
        (TargetType.AVERAGE_VALUE, 2.15, 8.6, Replicas(3, 3, 3), 4),
        (TargetType.VALUE, 14.334, 8.6, Replicas(5, 5, 5), 3),
        (TargetType.AVERAGE_VALUE, 2.867, 8.6, Replicas(5, 5, 5), 3),
        (TargetType.VALUE, 4.4, 8.6, Replicas(3, 3, 1), 2),  # not 6: only ready pods count
        (TargetType.VALUE, 4.4, 8.6, Replicas(3, 3, 0), 0),  # the trap of no ready pod
        (TargetType.VALUE, 4.4, 8.6, Replicas(0, 0, 0), 2),
        (TargetType.AVERAGE_VALUE, 1.0, 0.0, Replicas(0, 0, 0), 0),
        (TargetType.AVERAGE_VALUE, 1.0, 3.3, Replicas(3, 3, 0), 3),
        (TargetType.AVERAGE_VALUE, 1.0, 3.301, Replicas(3, 3, 0), 4),
        (TargetType.AVERAGE_VALUE, 1.0, 2.7, Replicas(3, 3, 3), 3),
        (TargetType.AVERAGE_VALUE, 1.0, 2.0, Replicas(3, 3, 3), 2),
    ],
)
def test_external_metrics(kind: TargetType, target: float, value: float, replicas: Replicas, expected: int) -> None:
    assert ExternalTarget(kind, target).proposal(value, replicas, USUAL) == expected


@given(value=st.floats(0, 1e6), more=st.floats(0, 1e6), status=st.integers(0, 500), ready=st.integers(0, 500))
def test_more_load_never_lowers_a_proposal_by_more_than_the_tolerance_holds(
    value: float, more: float, status: int, ready: int
) -> None:
    target, replicas = ExternalTarget(TargetType.AVERAGE_VALUE, 1.0), Replicas(status, status, ready)
    low, high = (target.proposal(load, replicas, USUAL) for load in (value, value + more))
    assert high >= low or high == status


@given(value=st.floats(0, 1e6), status=st.integers(0, 500))
def test_average_value_gives_enough_replicas_or_holds(value: float, status: int) -> None:
    found = ExternalTarget(TargetType.AVERAGE_VALUE, 1.0).proposal(value, Replicas(status, status, 0), USUAL)
    assert found == math.ceil(round(value * 1000) / 1000) or (found == status and abs(value / status - 1) <= 0.1005)


@given(
    st.lists(st.tuples(st.none() | st.floats(0, 500), st.booleans()), min_size=1, max_size=30),
    st.floats(1, 200),
)
def test_pods_without_a_metric_never_turn_the_direction(
    pods: list[tuple[float | None, bool]], target: float
) -> None:
    listed = [PodUse(use, ready) for use, ready in pods]
    known = [pod.use for pod in listed if pod.use is not None and pod.ready]
    if not known:
        return
    found, mean = pods_proposal(listed, target, len(listed), USUAL), int(sum(known) / len(known))
    assert found <= len(listed) or mean >= target
    full = all(pod.use is not None and pod.ready for pod in listed)
    assert found >= len(listed) or mean < target or not full
