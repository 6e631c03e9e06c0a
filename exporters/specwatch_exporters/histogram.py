"""Quantiles of cumulative bucket counts, as PromQL's histogram_quantile computes them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from specwatch_exporters.report import Latency


def quantile(buckets: Mapping[float, float], share: float) -> float | None:
    """Interpolated quantile.

    Args:
        buckets: upper edge to cumulative count; needs +Inf and at least one finite edge.
        share: 0 to 1.

    Returns:
        The value in the edges' unit; the highest finite edge if the quantile lies beyond it; None without
        observations. Edges with counts that fall are repaired upwards, as Prometheus does.

    Source: Prometheus `promql/quantile.go`, bucketQuantile.
    """
    edges = sorted(buckets)
    if len(edges) < 2 or not math.isinf(edges[-1]):
        return None
    counts: list[float] = []
    for edge in edges:
        counts.append(max(buckets[edge], counts[-1] if counts else 0.0))
    total = counts[-1]
    if total <= 0:
        return None
    rank = share * total
    index = next(i for i, count in enumerate(counts) if count >= rank)
    if index == len(edges) - 1:
        return edges[-2]
    if index == 0 and edges[0] <= 0:
        return edges[0]
    lower = edges[index - 1] if index else 0.0
    below = counts[index - 1] if index else 0.0
    inside = counts[index] - below
    if inside <= 0:
        return edges[index]
    return lower + (edges[index] - lower) * (rank - below) / inside


def summarise(buckets: Mapping[float, float], total: float | None, count: float) -> Latency:
    """Count, mean, p50 and p99 of one histogram; `total` is its sum, or None where that cannot be trusted."""
    mean = total / count if total is not None and count > 0 else None
    finite = [edge for edge in buckets if math.isfinite(edge) and edge > 0]
    first, last = min(finite, default=None), max(finite, default=None)
    p50, p99 = (_resolved(buckets, share, first, last) for share in (0.5, 0.99))
    return Latency(count, mean, p50, p99, first, last)


def _resolved(
    buckets: Mapping[float, float], share: float, first: float | None, last: float | None
) -> float | None:
    """A quantile, or None in the first bucket and beyond the last edge, where it would be an invention."""
    value = quantile(buckets, share)
    if value is None or first is None or last is None or value <= first:
        return None
    beyond = value == last and buckets[last] < share * max(buckets.values())
    return None if beyond else value
