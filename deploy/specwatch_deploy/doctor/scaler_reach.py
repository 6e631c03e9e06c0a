"""Thresholds against what a value can be: one that is never reached, always exceeded, or caps the replicas.

The arithmetic is the HPA's (`scale/hpa_metric.py`): `Value` compares the value with the threshold, `AverageValue`
divides it by the replicas first; within a tenth nothing changes. What a value can be comes from the metric's own
range, from the first edge of its histogram, and from a week of history.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from specwatch_alerts.promql_tree import Call, Node, Number, selectors, walk
from specwatch_deploy.doctor.finding import Finding, Severity, found
from specwatch_deploy.doctor.inputs import Inputs, PrometheusError
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import with_sum_for_avg
from specwatch_deploy.doctor.query_checks import knowledge
from specwatch_deploy.doctor.ranges import value_range
from specwatch_deploy.doctor.scaler_shared import of_one
from specwatch_deploy.doctor.scaler_signals import triggers
from specwatch_deploy.doctor.scaler_trigger import Trigger
from specwatch_deploy.doctor.seconds import in_milliseconds
from specwatch_deploy.scale.hpa_metric import DEFAULT_TOLERANCE, TargetType

DAYS: Final = 7.0
NEAR: Final = 0.1
"""Share of what would scale: a value that never was as high in a week is far from its threshold."""

_OF_HPA: Final = dict.fromkeys(("HorizontalPodAutoscaler", "InferenceService"), "target: {type: Value, ...}")
"""How a kind that is not KEDA's is told to compare by value; others cannot be."""
_MARGIN: Final = 1.0 + DEFAULT_TOLERANCE


@dataclass(frozen=True, slots=True)
class Reach:
    """What a value can be, and how that is known."""

    low: float
    high: float
    why: str


def thresholds(inputs: Inputs) -> Iterator[Finding]:
    """Each threshold against what its value can be; the first that is wrong with it is said."""
    metrics = knowledge(inputs, [])
    for trigger in triggers(inputs):
        tree = trigger.tree
        if tree is None or trigger.kind is None or not trigger.threshold or trigger.threshold <= 0.0:
            continue
        known = (
            _by_metric(trigger, tree, metrics)
            or _by_edges(trigger, tree, metrics)
            or _too_long(trigger, tree)
            or _shared(trigger, tree)
            or _by_history(trigger, inputs)
        )
        if known is not None:
            yield _doubtful(known) if trigger.adapted else known


def _doubtful(finding: Finding) -> Finding:
    """What is said of a series that an unseen rule of an adapter may have multiplied."""
    evidence = f"{finding.evidence}; a rule of an adapter may serve another value by this name"
    return replace(finding, severity=Severity.WARNING, evidence=evidence.removeprefix("; "))


def _by_metric(trigger: Trigger, tree: Node, metrics: Knowledge) -> Finding | None:
    low, high = value_range(tree, metrics)
    reach = Reach(low, high, f"the query gives {_said(low)} to {_said(high)}")
    if _never(trigger, high):
        return _unreachable(trigger, reach, Severity.ERROR)
    if _always(trigger, low):
        return _exceeded(trigger, reach)
    return _capped(trigger, reach)


def _by_edges(trigger: Trigger, tree: Node, metrics: Knowledge) -> Finding | None:
    """A quantile of an idle histogram is its share of the first bucket, however short the waits are."""
    for node, _ in walk(tree):
        if not isinstance(node, Call) or node.function != "histogram_quantile":
            continue
        share = node.arguments[0]
        names = [one.name.removesuffix("_bucket") for one in selectors(node.arguments[-1])]
        edges = metrics.edges(names[0]) if names else None
        first = min((edge for edge in edges or () if edge > 0.0), default=None)
        if not isinstance(share, Number) or first is None:
            return None
        idle = share.value * first
        if _more_than_least(trigger, idle):
            why = f"the first bucket of {names[0]} ends at {first:g}, so that idle reads as {idle:.3g}"
            return _exceeded(trigger, Reach(idle, math.inf, why))
    return None


def _too_long(trigger: Trigger, tree: Node) -> Finding | None:
    """A threshold in milliseconds for a value in seconds."""
    name = in_milliseconds(tree, _target(trigger))
    why = f"{name} is in seconds, and {_target(trigger):g} of them are {_target(trigger) / 60:.0f} minutes"
    return _unreachable(trigger, Reach(0.0, 0.0, why), Severity.WARNING) if name else None


def _by_history(trigger: Trigger, inputs: Inputs) -> Finding | None:
    if inputs.prometheus is None:
        return None
    try:
        rows = inputs.prometheus.range(trigger.query, DAYS)
    except PrometheusError:
        return None
    values = [value for _, points in rows for _, value in points if math.isfinite(value)]
    if len(rows) != 1 or not values:
        return None
    reach = Reach(min(values), max(values), f"over {DAYS:g} days it was {min(values):.3g} to {max(values):.3g}")
    if _never(trigger, reach.high / NEAR):
        return _unreachable(trigger, reach, Severity.WARNING)
    return _exceeded(trigger, reach) if _always(trigger, reach.low) else None


def _never(trigger: Trigger, high: float) -> bool:
    """Whether the value never asks for more than the least replicas."""
    return not _more_than_least(trigger, high)


def _more_than_least(trigger: Trigger, value: float) -> bool:
    base = trigger.least if trigger.kind is TargetType.AVERAGE_VALUE else 1
    return value > _target(trigger) * base * _MARGIN


def _always(trigger: Trigger, low: float) -> bool:
    """Whether the value always asks for all replicas."""
    base = max(trigger.most - 1, 1) if trigger.kind is TargetType.AVERAGE_VALUE else 1
    return trigger.most > trigger.least and low > _target(trigger) * base * _MARGIN


def _target(trigger: Trigger) -> float:
    return trigger.threshold or 0.0


def _unreachable(trigger: Trigger, reach: Reach, severity: Severity) -> Finding | None:
    if trigger.most <= trigger.least:
        return None
    base = trigger.least if trigger.kind is TargetType.AVERAGE_VALUE else 1
    times = f" times {base} replicas" if base > 1 else ""
    share = 1 < _target(trigger) <= 100 and reach.high <= 1
    return found(
        "scaler-threshold-unreachable",
        trigger.target_place,
        f"the value would have to exceed {_target(trigger):g}{times} by a tenth to add a replica, and never does",
        evidence=reach.why,
        mended=f'threshold: "{_target(trigger) / 100:g}"' if share and trigger.keda else "",
        severity=severity,
    )


def _exceeded(trigger: Trigger, reach: Reach) -> Finding:
    asked = (
        f"at least {math.ceil(reach.low / _target(trigger))} replicas are always asked for"
        if trigger.kind is TargetType.AVERAGE_VALUE
        else "more replicas are always asked for, up to the maximum"
    )
    return found(
        "scaler-threshold-always-exceeded",
        trigger.target_place,
        f"the value is above {_target(trigger):g} even without load: {asked}",
        evidence=reach.why,
    )


def _capped(trigger: Trigger, reach: Reach) -> Finding | None:
    """With AverageValue a value that does not grow with the load's size stands for a fixed number of replicas."""
    if trigger.kind is not TargetType.AVERAGE_VALUE or not math.isfinite(reach.high):
        return None
    most = math.ceil(reach.high / _target(trigger))
    if most >= trigger.most:
        return None
    by_hpa = trigger.keda or trigger.document.kind in _OF_HPA
    shared = "AverageValue shares the value among the replicas" if by_hpa else "the target is that of one replica"
    return found(
        "scaler-ratio-cannot-scale",
        trigger.place("metricType") if trigger.keda else trigger.target_place,
        f"{shared}: of at most {reach.high:g} and a threshold of "
        f"{_target(trigger):g} it never asks for more than {most} of {trigger.most} replicas",
        evidence=reach.why,
        mended="metricType: Value" if trigger.keda else _OF_HPA.get(trigger.document.kind, ""),
    )


def _shared(trigger: Trigger, tree: Node) -> Finding | None:
    """With AverageValue a value of one pod or one request is divided among all of them."""
    why = of_one(tree)
    if trigger.kind is not TargetType.AVERAGE_VALUE or not why or trigger.most <= 1:
        return None
    summed = with_sum_for_avg(trigger.query) if trigger.keda else ""
    return found(
        "scaler-ratio-cannot-scale",
        trigger.place("metricType") if trigger.keda else trigger.target_place,
        f"{why}, and AverageValue divides it by the replicas once more: {trigger.most} of them are asked for only "
        f"above {_target(trigger) * (trigger.most - 1):g}",
        evidence="the HPA asks for value / threshold replicas, whatever there are now",
        mended=f"query: {summed}" if summed else ("metricType: Value" if trigger.keda else ""),
        severity=Severity.WARNING,
    )


def _said(value: float) -> str:
    return "any number" if math.isinf(value) else f"{value:g}"
