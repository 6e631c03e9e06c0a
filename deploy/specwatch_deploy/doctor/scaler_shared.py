"""Values that stand for one replica or one request: they do not grow with the load of all replicas."""

from __future__ import annotations

from typing import Final

from specwatch_alerts.label_sets import is_scalar
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Selector, Subquery, selectors, walk
from specwatch_deploy.doctor.metric_name import owner_of

_OF_ONE: Final = frozenset({"avg", "max", "min", "quantile"})
_AROUND: Final = frozenset({"abs", "ceil", "clamp", "clamp_max", "clamp_min", "floor", "round", "scalar", "vector"})
_SAME: Final = _AROUND | {"avg_over_time", "last_over_time", "max_over_time", "min_over_time"}
"""Functions whose value is of as much as their first argument."""
_LEFT: Final = frozenset({"or", "and", "unless", ">", "<", ">=", "<=", "==", "!="})
_POOL_MEAN: Final = "inference_pool_average_"
"""Gateway API inference extension: its endpoint picker's own means over the pods of a pool."""


def of_one(node: Node) -> str:
    """Why a value is of one replica or one request, in words; empty if it may grow with the load of all."""
    found = ""
    match node:
        case Call(function="histogram_quantile"):
            found = "a quantile is of one request"
        case Call() if node.function in _SAME:
            found = of_one(node.arguments[0])
        case Subquery():
            found = of_one(node.argument)
        case Selector() if node.name.startswith(_POOL_MEAN):
            found = f"{node.name} is a mean over the pods"
        case Aggregate():
            found = _of_aggregate(node)
        case Binary():
            found = _of_binary(node)
    return found


def _of_aggregate(node: Aggregate) -> str:
    below = of_one(node.argument)
    if below or node.operator not in _OF_ONE:
        return below if node.operator in _OF_ONE or _one_pool(node) else ""
    owners = [owner_of(one.name) for one in selectors(node.argument)]
    inner = any(isinstance(one, Aggregate) for one, _ in walk(node.argument))
    rated = any(isinstance(one, Call) and one.function not in _SAME for one, _ in walk(node.argument))
    if inner or rated or not owners or None in owners:
        return ""
    return f"{node.operator}() is the value of one pod"


def _one_pool(node: Aggregate) -> bool:
    """Whether a sum is of a single series: a pool's mean, of one pool."""
    inner = node.argument
    return isinstance(inner, Selector) and any(
        one.label == "name" and one.operator == "=" for one in inner.matchers
    )


def _of_binary(node: Binary) -> str:
    if node.operator in _LEFT or (node.operator in {"*", "/"} and _is_constant(node.right)):
        return of_one(node.left)
    if node.operator == "*" and _is_constant(node.left):
        return of_one(node.right)
    if node.operator != "/":
        return ""
    if any(isinstance(one, Aggregate) and one.operator == "count" for one in (node.right, *_below(node.right))):
        return "it is divided by the number of pods"
    parts, wholes = ({one.name for one in selectors(side)} for side in (node.left, node.right))
    means = {f"{name.removesuffix('_sum')}_count" for name in parts if name.endswith("_sum")}
    return "a mean is of one request" if means and means == wholes else ""


def _is_constant(node: Node) -> bool:
    return is_scalar(node) and not list(selectors(node))


def _below(node: Node) -> tuple[Node, ...]:
    """What a guard of a divisor compares, or a function takes."""
    if isinstance(node, Binary) and node.operator in _LEFT:
        return (node.left,)
    return node.arguments[:1] if isinstance(node, Call) else ()
