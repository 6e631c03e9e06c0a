"""Alerts whose threshold no value can pass, or that every value passes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from specwatch_alerts.label_sets import label_set
from specwatch_alerts.lint_shape import COMPARISONS
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Number, selectors
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import renamed, with_sum
from specwatch_deploy.doctor.query import Role
from specwatch_deploy.doctor.ranges import Range, value_range
from specwatch_deploy.doctor.seconds import in_milliseconds

_HEARTBEAT: Final = re.compile(r"watch_?dog|dead_?man|heart_?beat|always_?(be_?)?fir(e|ing)", re.IGNORECASE)
_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "==", "!=": "!="}


def thresholds(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Comparisons with numbers in alerts."""
    if asked.query.role is not Role.ALERT:
        return
    if isinstance(asked.tree, Call) and asked.tree.function == "vector":
        if not is_heartbeat(asked):
            yield asked.found("alert-always-fires", "it compares nothing: it fires always", "")
        return
    for node, above in asked.steps:
        if isinstance(node, Binary) and node.operator in COMPARISONS and not node.as_bool and _decides(above):
            yield from _comparison(asked, node, known)


def is_heartbeat(asked: Asked) -> bool:
    """Whether an alert without any series is meant to fire always, such as kube-prometheus's Watchdog."""
    said = f"{asked.query.name} {asked.query.title}"
    return not any(asked.selectors()) and _HEARTBEAT.search(said) is not None


def _decides(above: tuple[Node, ...]) -> bool:
    """Whether the alert fires only if the comparison holds."""
    return all(isinstance(one, Binary) and one.operator == "and" for one in above)


def _comparison(asked: Asked, node: Binary, known: Knowledge) -> Iterator[Finding]:
    if isinstance(node.right, Number):
        found, limit, operator = value_range(node.left, known), node.right.value, node.operator
    elif isinstance(node.left, Number):
        found, limit, operator = value_range(node.right, known), node.left.value, _TURNED[node.operator]
    else:
        return
    yield from _too_long(asked, node.right if isinstance(node.left, Number) else node.left, operator, limit)
    shown = f"the values are from {found[0]:g} to {found[1]:g}"
    if never(found, operator, limit):
        share = 1 < limit <= 100 and found[1] <= 1
        mended = renamed(asked.query.text, f"{limit:g}", f"{limit / 100:g}") if share else ""
        yield asked.found("alert-never-fires", f"{operator} {limit:g} is never true", shown, mended)
    elif node is asked.tree and (of_one := _of_one_value(asked, node, known)) is not None:
        yield of_one
    elif always(found, operator, limit) and node is asked.tree and not _asks_presence(node):
        yield asked.found("alert-always-fires", f"{operator} {limit:g} is true of every value", shown)


def _too_long(asked: Asked, side: Node, operator: str, limit: float) -> Iterator[Finding]:
    name = in_milliseconds(side, limit) if operator in {">", ">="} else ""
    if name:
        message = (
            f"{name} is in seconds, and {limit:g} of them are {limit / 60:.0f} minutes: milliseconds are meant"
        )
        mended = renamed(asked.query.text, f"{limit:g}", f"{limit / 1000:g}")
        yield asked.found("alert-out-of-reach", message, "", mended)


def _of_one_value(asked: Asked, node: Binary, known: Knowledge) -> Finding | None:
    """A finding if 0 passes, and the engine exports a series for every value of a label, used or not."""
    read = list(selectors(node.left))
    if not _zero_passes(node) or len(read) != 1 or not known.is_counter(read[0].name):
        return None
    name, named = read[0].name, {one.label for one in read[0].matchers}
    labels = sorted(label_set(node.left, known).certain - named)
    split = next((label for label in labels if len(known.values(name, label) or ()) > 1), "")
    if not split:
        return None
    return asked.found(
        "alert-always-fires",
        f"each {split} is a series of its own, and those that do not occur are 0: it fires for them, always",
        f"{split} is one of {', '.join(sorted(known.values(name, split) or ()))}",
        with_sum(asked.query.text, name, ["model_name"]) if isinstance(node.left, Call) else "",
        Severity.WARNING,
    )


def _zero_passes(node: Binary) -> bool:
    """Whether 0 is what the comparison is for: `== 0`, `<= 0`, `< 1`."""
    limit = node.right.value if isinstance(node.right, Number) else -1.0
    return (node.operator == "<" and limit > 0) or (node.operator in {"<=", "=="} and limit == 0)


def _asks_presence(node: Binary) -> bool:
    """Whether it is `absent(...) == 1` or `count(...) > 0`: what matters is whether there is a value."""
    return any(
        (isinstance(one, Call) and one.function.startswith("absent"))
        or (isinstance(one, Aggregate) and one.operator in {"count", "group"})
        for one in (node.left, node.right)
    )


def never(found: Range, operator: str, limit: float) -> bool:
    """Whether no value of a range passes a comparison with a number."""
    low, high = found
    return {
        ">": high <= limit,
        ">=": high < limit,
        "<": low >= limit,
        "<=": low > limit,
        "==": not low <= limit <= high,
        "!=": low == high == limit,
    }[operator]


def always(found: Range, operator: str, limit: float) -> bool:
    """Whether every value of a range passes a comparison with a number."""
    low, high = found
    if math.isinf(low) and math.isinf(high):
        return False
    return {
        ">": low > limit,
        ">=": low >= limit,
        "<": high < limit,
        "<=": high <= limit,
        "==": low == high == limit,
        "!=": limit < low or limit > high,
    }[operator]
