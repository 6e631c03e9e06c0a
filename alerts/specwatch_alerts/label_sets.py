"""Labels that every series of a result has, and all that it can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_alerts.lint_context import LintContext
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Selector, Subquery, Text

_COUNTS_VALUES: Final = "count_values"
_KEEPS: Final = frozenset({"bottomk", "limit_ratio", "limitk", "topk"})
_SETS: Final = frozenset({"and", "unless", ">", "<", ">=", "<=", "==", "!="})
_NAMED: Final = frozenset({"label_join", "label_replace"})
_UNKNOWN: Final = frozenset({"absent", "absent_over_time", "info"})


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Labels of a result.

    Attributes:
        certain: every series has them.
        possible: no series has any other; None if that cannot be told.
    """

    certain: frozenset[str] = frozenset()
    possible: frozenset[str] | None = None


def label_set(node: Node, context: LintContext) -> LabelSet:
    """Labels of a result, as far as the context tells."""
    match node:
        case Selector():
            found = _of_selector(node, context)
        case Aggregate():
            found = _of_aggregate(node, context)
        case Call():
            found = _of_call(node, context)
        case Subquery():
            found = label_set(node.argument, context)
        case Binary():
            found = _of_binary(node, context)
        case _:
            found = LabelSet()
    return found


def _of_selector(node: Selector, context: LintContext) -> LabelSet:
    asked = {one.label for one in node.matchers if one.operator == "=" and one.value}
    gone = {one.label for one in node.matchers if one.operator == "=" and not one.value}
    certain, possible = context.certain(node.name), context.labels(node.name)
    if possible is None:
        return LabelSet()
    return LabelSet((certain | asked) - gone if certain else frozenset(), possible | asked)


def _of_aggregate(node: Aggregate, context: LintContext) -> LabelSet:
    below = label_set(node.argument, context)
    named = frozenset(node.labels or ())
    if node.operator in _KEEPS:
        return below
    if node.operator == _COUNTS_VALUES:  # the values become a label, whose name is not in the tree
        return LabelSet()
    if node.without:
        return LabelSet(below.certain - named, None if below.possible is None else below.possible - named)
    return LabelSet(below.certain & named, named)


def _of_call(node: Call, context: LintContext) -> LabelSet:
    if node.function in _UNKNOWN or not node.arguments:
        return LabelSet()
    if node.function in _NAMED:
        below, new = label_set(node.arguments[0], context), node.arguments[1]
        named = {new.value} if isinstance(new, Text) else set()
        return LabelSet(frozenset(), None if below.possible is None else below.possible | named)
    if node.function == "vector":
        return LabelSet(frozenset(), frozenset())
    below = label_set(node.arguments[-1 if node.function == "histogram_quantile" else 0], context)
    if node.function == "histogram_quantile":
        gone = frozenset({"le"})
        return LabelSet(below.certain - gone, None if below.possible is None else below.possible - gone)
    return below if node.function != "quantile_over_time" else label_set(node.arguments[1], context)


def _of_binary(node: Binary, context: LintContext) -> LabelSet:
    left, right = label_set(node.left, context), label_set(node.right, context)
    if is_scalar(node.right) or node.operator in _SETS:
        return left
    if is_scalar(node.left):
        return right
    if node.operator == "or":
        both = None if left.possible is None or right.possible is None else left.possible | right.possible
        return LabelSet(left.certain & right.certain, both)
    if node.matched:
        many = right.possible if node.right_many else left.possible
        return LabelSet(frozenset(), None if many is None else many | set(node.brought))
    return LabelSet(left.certain | right.certain, left.possible if right.possible is None else right.possible)


def keeps(node: Node, label: str) -> bool:
    """Whether a result of series still has a label that its selectors name."""
    match node:
        case Selector():
            return True
        case Aggregate():
            named = node.labels is not None and (label in node.labels) != node.without
            return (named or node.operator in _KEEPS) and keeps(node.argument, label)
        case Call() if node.function not in _UNKNOWN | _NAMED and node.arguments:
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
