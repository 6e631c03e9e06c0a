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


def limits(buckets: Mapping[float, float], share: float) -> tuple[float, float | None] | None:
    """Edges of the bucket that holds a quantile; the upper is None beyond the last; None without samples."""
    edges = sorted(buckets)
    if len(edges) < 2 or not math.isinf(edges[-1]) or max(buckets.values()) <= 0:
        return None
    rank = share * max(buckets.values())
    index = next(i for i, edge in enumerate(edges) if max(buckets[e] for e in edges[: i + 1]) >= rank)
    lower = edges[index - 1] if index else 0.0
    return lower, None if math.isinf(edges[index]) else edges[index]


def summarise(buckets: Mapping[float, float], total: float | None, count: float) -> Latency:
    """Count, mean, p50 and p99 of one histogram; `total` is its sum, or None where that cannot be trusted."""
    mean = total / count if total is not None and count > 0 else None
    half, tail = limits(buckets, 0.5), limits(buckets, 0.99)
    return Latency(count, mean, _inside(buckets, 0.5, half), _inside(buckets, 0.99, tail), half, tail)


def _inside(buckets: Mapping[float, float], share: float, held: tuple[float, float | None] | None) -> float | None:
    """The interpolated quantile, or None where a bucket has only one edge to interpolate from."""
    if held is None or held[1] is None or held[0] <= 0.0:
        return None
    return quantile(buckets, share)
