"""Labels that every series of a result has, and all that it can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Selector, Subquery
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.metric_name import owner_of

_TARGET: Final = frozenset({"instance", "job"})
"""Labels that Prometheus gives to every series that it scrapes."""
_SOMETIMES: Final = frozenset(
    {"dp_rank", "engine", "moe_ep_rank", "pid", "pp_rank", "priority", "status", "tp_rank"}
)
"""Labels of engines that depend on how they are started: captured pages lack one or another."""
_KEEPS: Final = frozenset({"bottomk", "limit_ratio", "limitk", "topk"})
_SETS: Final = frozenset({"and", "unless", ">", "<", ">=", "<=", "==", "!="})
_UNKNOWN: Final = frozenset({"absent", "absent_over_time", "info", "label_join", "label_replace"})


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Labels of a result.

    Attributes:
        certain: every series has them.
        possible: no series has any other; None if that cannot be told.
    """

    certain: frozenset[str] = frozenset()
    possible: frozenset[str] | None = None


def label_set(node: Node, known: Knowledge) -> LabelSet:
    """Labels of a result, as far as the engines' tables tell."""
    match node:
        case Selector():
            found = _of_selector(node, known)
        case Aggregate():
            found = _of_aggregate(node, known)
        case Call():
            found = _of_call(node, known)
        case Subquery():
            found = label_set(node.argument, known)
        case Binary():
            found = _of_binary(node, known)
        case _:
            found = LabelSet()
    return found


def _of_selector(node: Selector, known: Knowledge) -> LabelSet:
    owner = owner_of(node.name)
    if owner is None or node.name in known.recorded:
        return LabelSet()
    rows = known.rows(owner)
    if not rows or any(row.labels is None or "*" in row.labels for row in rows):
        return LabelSet()
    shared = frozenset.intersection(*(frozenset(row.labels or ()) for row in rows)) - _SOMETIMES
    asked = {one.label for one in node.matchers if one.operator == "=" and one.value}
    gone = {one.label for one in node.matchers if one.operator == "=" and not one.value}
    possible = known.labels(node.name)
    le = {"le"} if node.name.endswith("_bucket") else set()
    return LabelSet((shared | _TARGET | le | asked) - gone, None if possible is None else possible | asked)


def _of_aggregate(node: Aggregate, known: Knowledge) -> LabelSet:
    below = label_set(node.argument, known)
    named = frozenset(node.labels or ())
    if node.operator in _KEEPS:
        return below
    if node.without:
        return LabelSet(below.certain - named, None if below.possible is None else below.possible - named)
    return LabelSet(below.certain & named, named)


def _of_call(node: Call, known: Knowledge) -> LabelSet:
    if node.function in _UNKNOWN or not node.arguments:
        return LabelSet()
    if node.function == "vector":
        return LabelSet(frozenset(), frozenset())
    below = label_set(node.arguments[-1 if node.function == "histogram_quantile" else 0], known)
    if node.function == "histogram_quantile":
        gone = frozenset({"le"})
        return LabelSet(below.certain - gone, None if below.possible is None else below.possible - gone)
    return below if node.function != "quantile_over_time" else label_set(node.arguments[1], known)


def _of_binary(node: Binary, known: Knowledge) -> LabelSet:
    left, right = label_set(node.left, known), label_set(node.right, known)
    if is_scalar(node.right) or node.operator in _SETS:
        return left
    if is_scalar(node.left):
        return right
    if node.operator == "or":
        both = None if left.possible is None or right.possible is None else left.possible | right.possible
        return LabelSet(left.certain & right.certain, both)
    if node.matched:
        return LabelSet()
    return LabelSet(left.certain | right.certain, left.possible if right.possible is None else right.possible)


def keeps(node: Node, label: str) -> bool:
    """Whether a result of series still has a label that its selectors name."""
    match node:
        case Selector():
            return True
        case Aggregate():
            named = node.labels is not None and (label in node.labels) != node.without
            return (named or node.operator in _KEEPS) and keeps(node.argument, label)
        case Call() if node.function not in _UNKNOWN and node.arguments:
            return keeps(node.arguments[-1 if node.function == "histogram_quantile" else 0], label)
        case Subquery():
            return keeps(node.argument, label)
        case Binary() if node.operator in _SETS or is_scalar(node.right):
            return keeps(node.left, label)
        case _:
            return False


def is_scalar(node: Node) -> bool:
    """Whether it is a number that matches every series."""
    if isinstance(node, Binary):
        return is_scalar(node.left) and is_scalar(node.right)
    if isinstance(node, Call):
        if node.function in {"pi", "scalar", "time"}:
            return True
        return node.function == "-" and is_scalar(node.arguments[0])
    return not isinstance(node, Selector | Aggregate | Subquery)
