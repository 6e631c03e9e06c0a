"""A Prometheus histogram that takes many observations at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from prometheus_client import Histogram


class WeightedHistogram(Histogram):
    """`prometheus_client.Histogram` with two methods that observe in bulk.

    The base class has no public way to do so. It keeps one value per bucket in `_buckets`, not cumulative, and
    their sum in `_sum`, in every value class, with one process or several (prometheus_client 0.4 to 0.26); a test
    compares both methods with as many calls of `observe`.
    """

    def observe_many(self, value: float, count: int, total: float | None = None) -> None:
        """Observe one value several times.

        Args:
            value: what to observe; a NaN is left out.
            count: how often, 0 or more.
            total: what to add to the sum, where that is known better than value * count.
        """
        if value != value:  # noqa: PLR0124 - NaN
            return
        self._sum.inc(value * count if total is None else total)
        if count:
            self._buckets[bisect_left(self._upper_bounds, value)].inc(count)

    def add_counts(self, counts: Sequence[int], total: float) -> None:
        """Add observations that were counted elsewhere.

        Args:
            counts: per bucket, not cumulative, the +Inf bucket last.
            total: sum of the observed values.

        Raises:
            ValueError: another number of buckets than the histogram's.
        """
        if len(counts) != len(self._buckets):
            raise ValueError(f"{len(counts)} counts for {len(self._buckets)} buckets")
        self._sum.inc(total)
        for bucket, count in zip(self._buckets, counts, strict=True):
            if count:
                bucket.inc(count)
