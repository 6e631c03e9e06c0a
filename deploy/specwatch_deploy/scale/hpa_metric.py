"""How many replicas one metric asks for: the HPA's arithmetic by metric type.

Source: Kubernetes 1.34, pkg/controller/podautoscaler/replica_calculator.go. Values are milli-units there, whole
numbers; here they are floats that are rounded to thousandths first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DEFAULT_TOLERANCE: Final = 0.1
_MOST_MILLI: Final = 2**63 - 1
"""A quantity's thousandths have 64 bits."""


class MetricError(RuntimeError):
    """A metric gives no proposal: the HPA counts it as invalid."""


class TargetType(StrEnum):
    """How an external metric is compared with its target."""

    VALUE = "Value"
    AVERAGE_VALUE = "AverageValue"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a metric may be off its target before replicas change, as shares of the target.

    Attributes:
        up: above it.
        down: below it.
    """

    up: float = DEFAULT_TOLERANCE
    down: float = DEFAULT_TOLERANCE

    def holds(self, ratio: float) -> bool:
        """Whether a ratio of use to target changes nothing."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Replicas:
    """Replicas as the HPA sees them.

    Attributes:
        spec: wanted by the scaled object.
        status: that exist, terminating ones left out.
        ready: of those, ready.
    """

    spec: int
    status: int
    ready: int


@dataclass(frozen=True, slots=True)
class ExternalTarget:
    """An external metric's target, which is what KEDA makes of a trigger.

    Attributes:
        kind: `Value` divides among ready pods, `AverageValue` among existing ones.
        value: of the target; more than 0.
    """

    kind: TargetType
    value: float

    def proposal(self, value: float, replicas: Replicas, tolerance: Tolerance) -> int:
        """Replicas for a value of the metric."""
        milli, target = _milli(value), _milli(self.value)
        if self.kind is TargetType.AVERAGE_VALUE:
            return _per_pod(milli, target, replicas.status, tolerance)
        ratio = milli / target
        if replicas.spec == 0:
            return math.ceil(ratio)
        return replicas.spec if tolerance.holds(ratio) else math.ceil(ratio * replicas.ready)


def _per_pod(milli: int, target: int, status: int, tolerance: Tolerance) -> int:
    if status > 0 and tolerance.holds(milli / (target * status)):
        return status
    return math.ceil(milli / target)


def _milli(value: float) -> int:
    return round(min(max(value * 1000.0, -_MOST_MILLI), _MOST_MILLI))


@dataclass(frozen=True, slots=True)
class PodUse:
    """One pod's part in a metric per pod.

    Attributes:
        use: its value, in the target's unit: percent of the request (Resource) or milli-units (Pods). None if no
            metric came for it.
        ready: False for a pod that is pending or starting.
    """

    use: float | None
    ready: bool = True


def pods_proposal(
    pods: Sequence[PodUse], target: float, current: int, tolerance: Tolerance, missing_down: float | None = None
) -> int:
    """Replicas for a metric per pod: type Pods, or Resource with use as a share of the request.

    Pods without a metric count as at the target when the rest asks for fewer replicas, and as idle when it asks for
    more; pods that are not ready count as idle when it asks for more, and not at all otherwise.

    Args:
        pods: all pods of the scaled object that are not being deleted.
        target: mean use per pod that is wanted, in the unit of `PodUse.use`.
        current: replicas now.
        tolerance: around the target.
        missing_down: what a pod without a metric counts as on the way down; the target if None. For Resource
            metrics it is 100 % of the request, or the target if that is more.

    Raises:
        MetricError: no ready pod has a metric.
    """
    known = [pod.use for pod in pods if pod.use is not None and pod.ready]
    if not known:
        raise MetricError("no metric of a ready pod")
    missing = sum(pod.use is None and pod.ready for pod in pods)
    unready = sum(not pod.ready for pod in pods)
    ratio = _mean(known) / target
    more_with_unready = unready > 0 and ratio > 1.0
    if not more_with_unready and missing == 0:
        return current if tolerance.holds(ratio) else math.ceil(ratio * len(known))
    counted = list(known)
    if ratio != 1.0:
        counted += [(target if missing_down is None else missing_down) if ratio < 1.0 else 0.0] * missing
    if more_with_unready:
        counted += [0.0] * unready
    return _second_thought(ratio, counted, target, current, tolerance)


def _second_thought(
    ratio: float, counted: Sequence[float], target: float, current: int, tolerance: Tolerance
) -> int:
    """The proposal with stand-ins for pods that said nothing: never in the other direction than without them."""
    again = _mean(counted) / target
    if tolerance.holds(again) or (ratio - 1.0) * (again - 1.0) < 0.0:
        return current
    wanted = math.ceil(again * len(counted))
    against = wanted > current if again < 1.0 else wanted < current
    return current if against else wanted


def _mean(values: Sequence[float]) -> int:
    """Whole percent or milli-units, as in the source."""
    return int(sum(values) / len(values))
