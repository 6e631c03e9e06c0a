"""Histogram observations kept in plain numbers, many at a time, until prometheus_client gets them.

`Histogram.observe` costs about a microsecond a value, and an engine step at batch 32 has a hundred values. Here one
call takes a value with its multiplicity or a whole list, and the locks (or, with several processes, the writes to
the shared file) are paid once per flush.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class BucketTally:
    """Counts per bucket, not cumulative, and the sum of the values.

    Args:
        edges: finite upper edges, ascending; values above the last one go into the +Inf bucket.
    """

    __slots__ = ("counts", "edges", "total")

    def __init__(self, edges: Sequence[float]) -> None:
        self.edges = edges
        self.counts = [0] * (len(edges) + 1)
        self.total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Observe a value so many times; an edge belongs to its own bucket, as in Prometheus."""
        self.counts[bisect_left(self.edges, value)] += times
        self.total += value * times

    def add_all(self, values: Sequence[float]) -> float:
        """Observe each of one or more values; returns their sum. Costs a sort, not one search per value."""
        edges, counts = self.edges, self.counts
        ordered = sorted(values)
        first, last = bisect_left(edges, ordered[0]), bisect_left(edges, ordered[-1])
        before = 0
        for bucket in range(first, last):
            upto = bisect_right(ordered, edges[bucket])
            counts[bucket] += upto - before
            before = upto
        counts[last] += len(ordered) - before
        added = sum(ordered)
        self.total += added
        return added

    @property
    def empty(self) -> bool:
        """True when nothing was observed."""
        return not any(self.counts)
