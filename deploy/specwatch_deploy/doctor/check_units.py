"""Units of panels that are not those of their values: a share in percent, seconds in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

from specwatch_alerts.promql_tree import Binary, Node, Number, Selector, selectors
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.query import Role
from specwatch_deploy.doctor.ranges import value_range
from specwatch_deploy.doctor.seconds import is_time


def units(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Panels whose unit makes another number of the value; nothing where the query scales it."""
    unit = asked.query.unit
    if asked.query.role is not Role.PANEL or _scaled(asked.tree):
        return
    if unit == "percent" and value_range(asked.tree, known) == (0.0, 1.0) and list(selectors(asked.tree)):
        message = "the value is from 0 to 1 and the unit is percent (0-100): 40 % is shown as 0.4 %"
        yield asked.found("unit-wrong", message, "Grafana's unit for a share is percentunit")
    elif unit == "ms" and is_time(asked.tree) and all(map(_in_seconds, selectors(asked.tree))):
        yield asked.found("unit-wrong", "the value is in seconds and the unit is ms: 0.4 s is shown as 0.4 ms")


def _in_seconds(node: Selector) -> bool:
    return "_seconds" in node.name


def _scaled(tree: Node) -> bool:
    """Whether the outermost operation multiplies or divides by a number."""
    return isinstance(tree, Binary) and tree.operator in {"*", "/"} and isinstance(tree.right, Number)
