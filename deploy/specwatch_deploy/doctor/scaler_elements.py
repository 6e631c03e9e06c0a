"""A trigger of KEDA takes one element; several are an error, from the second pod on.

Source: KEDA 2.20 `pkg/scalers/prometheus_scaler.go`: "returned multiple elements".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Number, Selector, Subquery, selectors
from specwatch_deploy.doctor.finding import Finding, found
from specwatch_deploy.doctor.inputs import Inputs, PrometheusError
from specwatch_deploy.doctor.metric_name import owner_of
from specwatch_deploy.doctor.scaler_signals import triggers
from specwatch_deploy.doctor.scaler_trigger import Trigger

_SCALARS: Final = frozenset({"vector", "scalar", "time", "pi", "absent", "absent_over_time"})
_COUNTED: Final = frozenset({"topk", "bottomk", "limitk"})
"""As many elements as their number says, which may be 1."""

_WITH_LABELS: Final = frozenset({"limit_ratio", "count_values"})
_COMPARISONS: Final = frozenset({"==", "!=", ">", "<", ">=", "<="})
_PER_POD: Final = ("specwatch_",)


def several_elements(inputs: Inputs) -> Iterator[Finding]:
    """Queries that give one element per pod."""
    for trigger in triggers(inputs):
        if not trigger.single or trigger.tree is None:
            continue
        counted = _count(inputs, trigger.query)
        if counted is not None and counted > 1:
            yield _finding(trigger, f"it gives {counted} now")
        elif counted is None and not single(trigger.tree) and _per_pod(trigger.tree):
            yield _finding(trigger, "")


def single(node: Node) -> bool:
    """Whether an expression has at most one element, whatever the number of pods."""
    match node:
        case Aggregate():
            return node.operator in _COUNTED or (node.operator not in _WITH_LABELS and _pinned(node))
        case Call():
            return _single_call(node)
        case Binary():
            return _either(node)
        case Subquery():
            return single(node.argument)
        case _:
            return isinstance(node, Number)


def _single_call(node: Call) -> bool:
    if node.function == "histogram_quantile":
        return _only_edges(node.arguments[-1])
    return node.function in _SCALARS or all(single(one) for one in node.arguments if _is_vector(one))


def _finding(trigger: Trigger, evidence: str) -> Finding:
    return found(
        "scaler-several-elements",
        trigger.query_place,
        "the query gives an element per series, and one is taken: from the second pod on the trigger fails",
        evidence=evidence,
        mended=f"sum({trigger.query.strip()})" if isinstance(trigger.tree, Selector) else "",
    )


def _count(inputs: Inputs, query: str) -> int | None:
    """Elements that Prometheus gives now; None if it gives none, or is not asked."""
    if inputs.prometheus is None:
        return None
    try:
        return len(inputs.prometheus.instant(query)) or None
    except PrometheusError:
        return None


def _per_pod(node: Node) -> bool:
    """Whether it reads series that every pod has, and does not pick one of them by its labels."""
    picked = frozenset({"pod", "instance"})
    for one in selectors(node):
        if any(matcher.operator == "=" and matcher.label in picked for matcher in one.matchers):
            return False
        if owner_of(one.name) is None and not one.name.startswith(_PER_POD):
            return False
    return True


def _pinned(node: Aggregate) -> bool:
    """Whether the labels that are kept can have one value only."""
    if node.labels is None or (not node.labels and not node.without):
        return True
    if node.without:
        return False
    return set(node.labels) <= _fixed(node.argument)


def _fixed(node: Node) -> set[str]:
    """Labels to which every selector below gives one value."""
    rows = [
        {matcher.label for matcher in one.matchers if matcher.operator == "="}
        for one in selectors(node)
        if one.name
    ]
    return set.intersection(*rows) if rows else set()


def _only_edges(node: Node) -> bool:
    """Whether only `le` is kept beside labels of one value: then a quantile is one element."""
    if not isinstance(node, Aggregate) or node.labels is None or node.without:
        return False
    return set(node.labels) - {"le"} <= _fixed(node.argument)


def _bare(node: Node) -> bool:
    """Whether it is one element without labels, so that `or` takes one of two and not both."""
    match node:
        case Number():
            return True
        case Aggregate():
            return node.operator not in _WITH_LABELS | _COUNTED and not node.labels and not node.without
        case Call():
            return node.function == "vector" or _bare_call(node)
        case Binary():
            return _bare(node.left) and _bare(node.right)
        case _:
            return False


def _bare_call(node: Call) -> bool:
    if node.function == "histogram_quantile":
        buckets = node.arguments[-1]
        return isinstance(buckets, Aggregate) and buckets.labels == ("le",) and not buckets.without
    vectors = [one for one in node.arguments if _is_vector(one)]
    return bool(vectors) and all(_bare(one) for one in vectors)


def _either(node: Binary) -> bool:
    if node.operator == "or":
        return _bare(node.left) and _bare(node.right)
    if node.operator in {"and", "unless"} or (node.operator in _COMPARISONS and isinstance(node.right, Number)):
        return single(node.left)
    if isinstance(node.left, Number) or isinstance(node.right, Number):
        return single(node.right if isinstance(node.left, Number) else node.left)
    if node.matched:  # with group_left and group_right as many as the other side has
        return single(node.left) and single(node.right)
    return single(node.left) or single(node.right)


def _is_vector(node: Node) -> bool:
    return isinstance(node, Selector | Call | Aggregate | Binary | Subquery)
