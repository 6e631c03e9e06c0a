"""Checks of the lint on the shape of an expression: ratios, NaN, absence, matching, versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specwatch_alerts.lint_context import LintContext
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Number, Selector, walk

COMPARISONS: Final = frozenset({"==", "!=", ">", "<", ">=", "<="})
_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "%", "^", "atan2"})
_UNSTABLE: Final = frozenset({"topk", "bottomk", "limitk", "limit_ratio", "count_values"})
# Functions that one of 2.42 and 3.x does not have, or has only behind a flag.
_NOT_EVERYWHERE: Final = frozenset(
    {
        "holt_winters",
        "double_exponential_smoothing",
        "histogram_avg",
        "histogram_stddev",
        "histogram_stdvar",
        "histogram_quantiles",
        "info",
        "limitk",
        "limit_ratio",
        "mad_over_time",
        "sort_by_label",
        "sort_by_label_desc",
        "ts_of_first_over_time",
        "ts_of_last_over_time",
        "ts_of_max_over_time",
        "ts_of_min_over_time",
        "first_over_time",
    }
)

Said = tuple[str, str]


def ratios(tree: Node, context: LintContext) -> Iterator[Said]:
    """Divisors that can be 0."""
    del context
    for node, _ in walk(tree):
        if isinstance(node, Binary) and node.operator in {"/", "%"} and not never_zero(node.right):
            yield "unguarded-ratio", "the divisor can be 0; write (divisor > 0)"


def never_zero(node: Node) -> bool:
    """Whether no value of an expression is 0."""
    match node:
        case Number():
            sure = node.value != 0
        case Binary():
            sure = not node.as_bool and _filtered_above_zero(node)
        case Call(function="clamp_min" | "vector"):
            sure = any(isinstance(one, Number) and one.value > 0 for one in node.arguments)
        case Aggregate(operator="count" | "group"):
            sure = True
        case Aggregate(operator="sum" | "min" | "max" | "avg"):
            sure = never_zero(node.argument)
        case _:
            sure = False
    return sure


def _filtered_above_zero(node: Binary) -> bool:
    """Whether a comparison, a set operation, a product or a quotient leaves nothing that is 0."""
    if node.operator in {"and", "unless"}:
        return never_zero(node.left)
    if node.operator in {"*", "or"}:
        return never_zero(node.left) and never_zero(node.right)
    if node.operator in {"/", "^"}:
        to_one = node.operator == "^" and isinstance(node.right, Number) and node.right.value == 0
        return to_one or never_zero(node.left)
    if not isinstance(node.right, Number):
        return False
    limit = node.right.value
    return {">": limit >= 0, ">=": limit > 0, "==": limit > 0, "!=": limit == 0}.get(node.operator, False)


def nan(tree: Node, context: LintContext) -> Iterator[Said]:
    """Comparisons that NaN makes true: `!=`, and the 0 of a `bool` comparison."""
    del context
    for node, above in walk(tree):
        if not isinstance(node, Binary) or node.operator not in COMPARISONS:
            continue
        if node.operator == "!=" and not node.as_bool and can_be_nan(node.left):
            yield "nan-is-true", "NaN != x is true; compare with > or <"
        inner = any(isinstance(one, Binary) and one.operator in COMPARISONS for one in above)
        if node.as_bool and inner and can_be_nan(node.left):
            yield "nan-is-true", "a bool comparison with NaN is 0, and that 0 is compared again"


def can_be_nan(node: Node) -> bool:
    """Whether a value of an expression can be NaN, or infinite."""
    return any(
        (isinstance(one, Binary) and one.operator in {"/", "%"} and not never_zero(one.right))
        or (isinstance(one, Call) and one.function in {"histogram_quantile", "scalar", "ln", "sqrt"})
        for one, _ in walk(node)
    )


def absence(tree: Node, context: LintContext) -> Iterator[Said]:
    """A default value for what is missing."""
    del context
    for node, _ in walk(tree):
        if isinstance(node, Binary) and node.operator == "or" and is_constant(node.right):
            yield (
                "absent-as-zero",
                "`or vector(...)` gives a missing target a value; let the absence have its own alert",
            )


def is_constant(node: Node) -> bool:
    """Whether it is `vector(number)`."""
    return isinstance(node, Call) and node.function == "vector" and isinstance(node.arguments[0], Number)


def stability(tree: Node, context: LintContext) -> Iterator[Said]:
    """Results whose members or labels come and go."""
    del context
    for node, above in walk(tree):
        if isinstance(node, Aggregate) and node.operator in _UNSTABLE:
            yield "fragile", f"{node.operator} changes its members from one evaluation to the next"
        if isinstance(node, Binary) and node.operator in _ARITHMETIC | COMPARISONS | {"and", "unless"}:
            sides = [_grouping(one) for one in (node.left, node.right)]
            if not node.matched and None not in sides and sides[0] != sides[1]:
                left, right = ("(" + ", ".join(sorted(side or ())) + ")" for side in sides)
                yield "fragile", f"{node.operator} joins labels {left} and {right} without on or ignoring"
        del above


def _grouping(node: Node) -> frozenset[str] | None:
    """Labels by which an operand is grouped; None for anything but an aggregation by labels."""
    if isinstance(node, Aggregate) and not node.without:
        return frozenset(node.labels or ())
    if isinstance(node, Binary):
        sides = [_grouping(one) for one in (node.left, node.right) if not isinstance(one, Number)]
        return sides[0] if sides and node.operator != "or" else None
    if isinstance(node, Call) and node.function in {"clamp_min", "clamp_max", "abs", "round", "-"}:
        return _grouping(node.arguments[0])
    return None


def versions(tree: Node, context: LintContext) -> Iterator[Said]:
    """Functions and names that 2.42 or 3.x does not know."""
    del context
    for node, _ in walk(tree):
        name = getattr(node, "function", "") or getattr(node, "operator", "")
        if name in _NOT_EVERYWHERE:
            yield "version", f"{name} is not in every Prometheus from 2.42 to 3.x"
        if isinstance(node, Selector) and any(not (c.isalnum() or c in "_:") for c in node.name):
            yield "version", f"the quoted name {node.name!r} needs Prometheus 3"
