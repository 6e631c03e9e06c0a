"""Quantiles that cannot be right: without buckets, averaged, or between edges that do not tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_alerts.lint_shape import COMPARISONS
from specwatch_alerts.promql_tree import Aggregate, Binary, Call, Node, Number, selectors
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import with_le, with_share

_QUANTILE: Final = "histogram_quantile"
_AVERAGES: Final = frozenset({"avg", "sum"})
_AVERAGES_OVER_TIME: Final = frozenset({"avg_over_time", "sum_over_time"})


def quantiles(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Every `histogram_quantile` of a query."""
    for node, above in asked.steps:
        if isinstance(node, Call) and node.function == _QUANTILE and len(node.arguments) > 1:
            yield from _buckets(asked, node)
            yield from _averaged(asked, above)
            yield from _threshold(asked, node, above, known)


def beyond_one(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Quantiles over 1, such as 95: Prometheus answers +Inf, and below 0 -Inf."""
    del known
    for node, _ in asked.steps:
        share = _share(node)
        if share is not None and not 0 <= share <= 1:
            sign = "+" if share > 1 else "-"
            message = f"the quantile {share:g} is not from 0 to 1: the result is {sign}Inf, always"
            percent = 1 < share <= 100
            mended = with_share(asked.query.text, f"{share:g}", f"{share / 100:g}") if percent else ""
            yield asked.found("quantile-beyond-one", message, "", mended)


def _share(node: Node) -> float | None:
    """The share that a quantile is asked for; None for anything else."""
    if isinstance(node, Aggregate):
        return node.parameter if node.operator == "quantile" else None
    if not isinstance(node, Call) or node.function not in {_QUANTILE, "quantile_over_time"}:
        return None
    asks = node.arguments[0]
    return asks.value if isinstance(asks, Number) else None


def _buckets(asked: Asked, node: Call) -> Iterator[Finding]:
    names = {one.name for one in selectors(node.arguments[1])}
    wrong = sorted(name for name in names if name.endswith(("_sum", "_count", "_total")))
    if wrong:
        message = f"histogram_quantile reads {wrong[0]}, which has no buckets: the result is empty"
        yield asked.found("quantile-without-le", message)
        return
    below = node.arguments[1]
    if isinstance(below, Aggregate) and any(name.endswith("_bucket") for name in names) and not _keeps_le(below):
        message = f"{below.operator} drops `le`, which histogram_quantile needs: the result is empty"
        yield asked.found("quantile-without-le", message, "", with_le(asked.query.text))


def _keeps_le(node: Aggregate) -> bool:
    return node.labels is not None and ("le" in node.labels) != node.without


def _averaged(asked: Asked, above: Sequence[Node]) -> Iterator[Finding]:
    for one in above:
        if isinstance(one, Aggregate) and one.operator in _AVERAGES:
            what = one.operator
        elif isinstance(one, Call) and one.function in _AVERAGES_OVER_TIME:
            what = one.function
        else:
            continue
        message = f"{what} of quantiles is no quantile of anything; add the buckets up first"
        yield asked.found("quantile-averaged", message)


def _threshold(asked: Asked, node: Call, above: Sequence[Node], known: Knowledge) -> Iterator[Finding]:
    limit = _compared(node, above)
    if limit is not None:
        said = unresolved(node, limit, known)
        if said:
            yield asked.found("edge-too-coarse", *said)


def _compared(node: Node, above: Sequence[Node]) -> float | None:
    """The number that a result is compared with right away."""
    one = above[-1] if above else None
    if not isinstance(one, Binary) or one.operator not in COMPARISONS or one.left is not node:
        return None
    return one.right.value if isinstance(one.right, Number) else None


def unresolved(node: Node, limit: float, known: Knowledge) -> tuple[str, str] | None:
    """Message and evidence if a quantile's buckets cannot tell whether it is over a limit.

    Args:
        node: a `histogram_quantile`, or anything around one that does not change its values.
        limit: in the unit of the histogram.
        known: surroundings.
    """
    for one in selectors(node):
        edges = known.edges(one.name) if one.name.endswith("_bucket") else None
        if edges:
            shown = f"edges: {', '.join(f'{edge:g}' for edge in sorted(edges))}"
            least, most = min(edge for edge in edges if edge > 0), max(edges)
            if 0 < limit < least:
                return (
                    f"the first edge of {one.name} is {least:g}: with few observations the quantile is somewhere "
                    f"below it, and says nothing about {limit:g}"
                ), shown
            if limit >= most:
                return f"the last edge of {one.name} is {most:g}: the quantile never gets above it", shown
    return None
