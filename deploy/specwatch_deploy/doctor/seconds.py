"""Thresholds on seconds that are meant in milliseconds: 2,000 s to the first token is half an hour."""

from __future__ import annotations

from typing import Final

from specwatch_alerts.promql_tree import Binary, Call, Node, Number, selectors, walk
from specwatch_deploy.doctor.metric_name import owner_of

LONG: Final = 500.0
"""Seconds; nobody waits that long for a first token, and a threshold in milliseconds is seldom less."""

_WAITS: Final = (
    "time_to_first_token_seconds",
    "inter_token_latency_seconds",
    "time_per_output_token_seconds",
    "request_queue_time_seconds",
    "queue_time_seconds",
)


def in_milliseconds(tree: Node, limit: float) -> str:
    """The series of which a threshold is too long to be in seconds; empty if it may be.

    Args:
        tree: what is compared with it; a quantile or a mean of a wait, in seconds.
        limit: the threshold.
    """
    names = {one.name.rsplit("_", 1)[0] for one in selectors(tree)}
    if limit < LONG or len(names) != 1 or not is_time(tree):
        return ""
    name = names.pop()
    return name if owner_of(f"{name}_sum") is not None and name.endswith(_WAITS) else ""


def is_time(tree: Node) -> bool:
    """Whether the value is a time: a quantile, or a sum over a count; nothing multiplies it."""
    steps = [node for node, _ in walk(tree)]
    scaled = any(isinstance(one, Binary) and one.operator == "*" for one in steps)
    divided = any(
        isinstance(one, Binary) and one.operator == "/" and isinstance(one.right, Number) for one in steps
    )
    quantile = any(isinstance(one, Call) and one.function == "histogram_quantile" for one in steps)
    parts = {one.name.rsplit("_", 1)[-1] for one in selectors(tree)}
    return not scaled and not divided and (quantile or parts == {"sum", "count"})
