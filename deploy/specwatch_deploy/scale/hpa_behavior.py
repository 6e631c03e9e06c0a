"""How fast an HPA may move: stabilisation windows and policies.

Source: Kubernetes 1.34, pkg/controller/podautoscaler/horizontal.go, the form with `behavior`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class PolicyType(StrEnum):
    """What a policy counts."""

    PODS = "Pods"
    PERCENT = "Percent"


class Select(StrEnum):
    """Which of several policies holds."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


@dataclass(frozen=True, slots=True)
class Policy:
    """So much change is allowed in a period.

    Attributes:
        kind: of the value.
        value: pods or percent; more than 0.
        period_s: 1 to 1800.
    """

    kind: PolicyType
    value: int
    period_s: int


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """Rules for one direction.

    Attributes:
        window_s: stabilisation window, 0 to 3600.
        policies: at least one.
        select: which one holds.
    """

    window_s: int
    policies: tuple[Policy, ...]
    select: Select = Select.MAX

    def as_object(self) -> dict[str, Any]:
        """As in a manifest."""
        return {
            "stabilizationWindowSeconds": self.window_s,
            "selectPolicy": self.select.value,
            "policies": [
                {"type": item.kind.value, "value": item.value, "periodSeconds": item.period_s}
                for item in self.policies
            ],
        }


@dataclass(frozen=True, slots=True)
class Behavior:
    """Rules for both directions."""

    up: ScalingRules
    down: ScalingRules

    def as_object(self) -> dict[str, Any]:
        """As in a manifest."""
        return {"scaleUp": self.up.as_object(), "scaleDown": self.down.as_object()}


KUBERNETES_DEFAULT: Final = Behavior(
    up=ScalingRules(0, (Policy(PolicyType.PODS, 4, 15), Policy(PolicyType.PERCENT, 100, 15))),
    down=ScalingRules(300, (Policy(PolicyType.PERCENT, 100, 15),)),
)


@dataclass(slots=True)
class Events:
    """Changes of replicas that were made, in one direction.

    Attributes:
        changes: time and number of pods, oldest first.
    """

    changes: list[tuple[float, int]] = field(default_factory=list)

    def add(self, at: float, pods: int, keep_s: float) -> None:
        """Note a change and forget those older than the longest period."""
        self.changes = [change for change in self.changes if change[0] > at - keep_s]
        self.changes.append((at, pods))

    def within(self, at: float, period_s: float) -> int:
        """Pods changed in the period that ends now."""
        return sum(pods for when, pods in self.changes if when > at - period_s)


def most_replicas(current: int, at: float, rules: ScalingRules, added: Events, removed: Events) -> int:
    """The upper limit of a scale-up; never below the current number."""
    if rules.select is Select.DISABLED:
        return current
    limits = []
    for policy in rules.policies:
        start = current - added.within(at, policy.period_s) + removed.within(at, policy.period_s)
        pods = policy.kind is PolicyType.PODS
        limits.append(start + policy.value if pods else math.ceil(start * (1.0 + policy.value / 100.0)))
    return max(current, _chosen(limits, widest=max, narrowest=min, select=rules.select))


def fewest_replicas(current: int, at: float, rules: ScalingRules, added: Events, removed: Events) -> int:
    """The lower limit of a scale-down; never above the current number."""
    if rules.select is Select.DISABLED:
        return current
    limits = []
    for policy in rules.policies:
        start = current - added.within(at, policy.period_s) + removed.within(at, policy.period_s)
        pods = policy.kind is PolicyType.PODS
        limits.append(start - policy.value if pods else int(start * (1.0 - policy.value / 100.0)))
    return min(current, _chosen(limits, widest=min, narrowest=max, select=rules.select))


def _chosen(limits: Iterable[int], *, widest: Any, narrowest: Any, select: Select) -> int:
    return int((widest if select is Select.MAX else narrowest)(limits))
