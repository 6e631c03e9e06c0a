"""The smallest and the largest value that an expression can have, from what is known of its metrics."""

from __future__ import annotations

import math
from typing import Final

from specwatch_alerts.lint_series import RATES
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Number, Selector, Subquery
from specwatch_deploy.doctor.knowledge import Knowledge

Range = tuple[float, float]
ANY: Final[Range] = (-math.inf, math.inf)
NEVER_NEGATIVE: Final[Range] = (0.0, math.inf)
_COUNTS: Final = RATES | {"changes", "count_over_time", "histogram_quantile", "resets"}
_PRESENCE: Final = frozenset({"absent", "absent_over_time", "present_over_time"})
# Functions whose values are those of their first argument.
_KEEPS: Final = frozenset(
    {
        "avg_over_time",
        "label_join",
        "label_replace",
        "last_over_time",
        "max_over_time",
        "min_over_time",
        "scalar",
        "sort",
        "sort_desc",
        "vector",
    }
)
# A counter, and the counter of which it counts a part.
_PARTS: Final = (
    ("spec_decode_num_accepted_tokens_total", "spec_decode_num_draft_tokens_total"),
    ("spec_decode_num_accepted_tokens_per_pos_total", "spec_decode_num_drafts_total"),
    ("prefix_cache_hits_total", "prefix_cache_queries_total"),
    ("_bucket", "_count"),
    ("accepted_tokens_total", "draft_tokens_total"),
)


def value_range(node: Node, known: Knowledge) -> Range:
    """Smallest and largest value; infinite where there is no limit or nobody knows.

    A sum has no largest value: nobody knows how many series there are.
    """
    match node:
        case Number():
            found = (node.value, node.value)
        case Selector():
            found = _of_selector(node, known)
        case Subquery():
            found = value_range(node.argument, known)
        case Aggregate():
            found = _of_aggregate(node, known)
        case Call():
            found = _of_call(node, known)
        case Binary():
            found = _of_binary(node, known)
        case _:
            found = ANY
    return found


def _of_selector(node: Selector, known: Knowledge) -> Range:
    if node.name in known.rules:
        return _of_recorded(node.name, known)
    low, high = known.limits(node.name)
    if low is None and known.is_counter(node.name):
        return NEVER_NEGATIVE
    return (-math.inf if low is None else float(low), math.inf if high is None else float(high))


def _of_recorded(name: str, known: Knowledge) -> Range:
    """The range of what a series is recorded from; a rule that reads itself can be anything."""
    if name not in known.ranges:
        known.ranges[name] = ANY
        ranges = [value_range(tree, known) for tree in known.rules[name]]
        known.ranges[name] = min(low for low, _ in ranges), max(high for _, high in ranges)
    return known.ranges[name]


def _of_aggregate(node: Aggregate, known: Knowledge) -> Range:
    low, high = value_range(node.argument, known)
    match node.operator:
        case "avg" | "bottomk" | "max" | "min" | "quantile" | "topk":
            found = (low, high)
        case "count" | "count_values":
            found = (1.0, math.inf)
        case "group":
            found = (1.0, 1.0)
        case "sum":
            found = (0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf)
        case "stddev" | "stdvar":
            found = NEVER_NEGATIVE
        case _:
            found = ANY
    return found


def _of_call(node: Call, known: Knowledge) -> Range:
    low, high = value_range(node.arguments[0], known) if node.arguments else ANY
    limit = _number(node.arguments[1]) if len(node.arguments) > 1 else None
    found = ANY
    if node.function in _COUNTS:
        found = NEVER_NEGATIVE
    elif node.function in _KEEPS:
        found = (low, high)
    elif node.function in _PRESENCE:
        found = (1.0, 1.0)
    elif node.function == "-":
        found = (-high, -low)
    elif node.function == "clamp_min" and limit is not None:
        found = (max(low, limit), max(high, limit))
    elif node.function == "clamp_max" and limit is not None:
        found = (min(low, limit), min(high, limit))
    return found


def _number(node: Node) -> float | None:
    return node.value if isinstance(node, Number) else None


def _of_binary(node: Binary, known: Knowledge) -> Range:
    if node.as_bool:
        return 0.0, 1.0
    left, right = value_range(node.left, known), value_range(node.right, known)
    match node.operator:
        case "+":
            found = (left[0] + right[0], left[1] + right[1])
        case "-":
            found = (left[0] - right[1], left[1] - right[0])
        case "*":
            found = _product(left, right)
        case "/":
            found = _quotient(node, left, right)
        case "^" if right == (0.0, 0.0):
            found = (1.0, 1.0)
        case "or":
            found = (min(left[0], right[0]), max(left[1], right[1]))
        case "and" | "unless" | ">" | "<" | ">=" | "<=" | "==" | "!=":
            found = left
        case _:
            found = ANY
    return found


def _product(left: Range, right: Range) -> Range:
    found = [0.0 if 0 in {a, b} else a * b for a in left for b in right]
    return min(found), max(found)


def _quotient(node: Binary, left: Range, right: Range) -> Range:
    if isinstance(node.right, Number) and node.right.value > 0:
        return left[0] / node.right.value, left[1] / node.right.value
    if left[0] >= 0 and right[0] >= 0:
        return (0.0, 1.0) if _is_part(node.left, node.right) else NEVER_NEGATIVE
    return ANY


def _is_part(part: Node, whole: Node) -> bool:
    """Whether the left counter counts some of what the right one does, summed the same way."""
    left, right = _summed(part), _summed(whole)
    if left is None or right is None or left[1] != right[1]:
        return False
    return any(
        left[0].name.endswith(one) and right[0].name == left[0].name.removesuffix(one) + other
        for one, other in _PARTS
    )


def _summed(node: Node) -> tuple[Selector, tuple[object, ...]] | None:
    """The selector below a sum of rates, and how it is summed; None for anything else."""
    if isinstance(node, Binary) and node.operator in {">", ">="}:
        return _summed(node.left)
    if isinstance(node, Aggregate) and node.operator == "sum":
        below = _summed(node.argument)
        return None if below is None else (below[0], (node.labels, node.without, *below[1]))
    if isinstance(node, Call) and node.function in RATES and isinstance(node.arguments[0], Selector):
        return node.arguments[0], (node.function, node.arguments[0].seconds)
    return None
