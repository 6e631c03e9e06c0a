"""What one pool got and how it did; written by the data path, read by whoever scrapes or asks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from specwatch_exporters import pool_catalog
from specwatch_exporters.metric import Metric
from specwatch_exporters.proxy.pool_weights import PoolWeights
from specwatch_exporters.request_metrics import Outcome


class PoolLedger:
    """Figures of one pool since the start.

    Attributes:
        in_flight: requests sent and not ended.
        passed_over: requests that went elsewhere because it could not be reached.
        outcomes: requests that ended, by outcome.
        output_tokens: of finished requests.
        latency_counts: requests by seconds per output token: one count per bucket, not cumulative, +Inf last.
        latency_sum_s: sum of the seconds per output token.
    """

    def __init__(self) -> None:
        self.in_flight = 0
        self.passed_over = 0
        self.outcomes = dict.fromkeys(Outcome, 0)
        self.output_tokens = 0
        self.latency_counts = [0] * (len(pool_catalog.TOKEN_LATENCY.buckets) + 1)
        self.latency_sum_s = 0.0

    def finished(self, outcome: Outcome, seconds: float = 0.0, tokens: int | None = None) -> None:
        """A request has ended.

        Args:
            outcome: how.
            seconds: end to end.
            tokens: of its answer, or None if they are unknown.
        """
        self.outcomes[outcome] += 1
        if tokens:
            self.output_tokens += tokens
        if tokens and outcome is Outcome.SUCCESS:
            self.latency_counts[bisect_left(pool_catalog.TOKEN_LATENCY.buckets, seconds / tokens)] += 1
            self.latency_sum_s += seconds / tokens

    def buckets(self) -> list[tuple[str, int]]:
        """The histogram as Prometheus has it: upper edge, and requests up to it."""
        edges = (*map(str, pool_catalog.TOKEN_LATENCY.buckets), "+Inf")
        return list(zip(edges, accumulate(self.latency_counts), strict=True))

    def as_json(self) -> dict[str, Any]:
        """As JSON; counts since the start."""
        return {
            "in_flight": self.in_flight,
            "passed_over": self.passed_over,
            "outcomes": {outcome.value: count for outcome, count in self.outcomes.items()},
            "output_tokens": self.output_tokens,
            "token_latency": {"sum": self.latency_sum_s, "buckets": self.buckets()},
        }


class PoolCollector(Collector):
    """Exports the ledgers.

    Args:
        weights: of the pools.
        ledgers: one per pool, in their order.
    """

    def __init__(self, weights: PoolWeights, ledgers: Sequence[PoolLedger]) -> None:
        self._weights = weights
        self._ledgers = tuple(ledgers)

    def collect(self) -> Iterator[Family]:
        """All families (prometheus_client)."""
        now, pools = self._weights.now, list(zip(self._weights.names, self._ledgers, strict=True))
        yield _gauge(pool_catalog.SHARE, ((name, now.share(at)) for at, (name, _) in enumerate(pools)))
        yield _gauge(pool_catalog.IN_FLIGHT, ((name, own.in_flight) for name, own in pools))
        requests = _counter(pool_catalog.REQUESTS)
        for name, own in pools:
            for outcome, count in own.outcomes.items():
                requests.add_metric([name, outcome.value], count)
        yield requests
        passed, tokens = _counter(pool_catalog.PASSED_OVER), _counter(pool_catalog.OUTPUT_TOKENS)
        latency = HistogramMetricFamily(
            pool_catalog.TOKEN_LATENCY.name,
            pool_catalog.TOKEN_LATENCY.help,
            labels=pool_catalog.TOKEN_LATENCY.labels,
        )
        for name, own in pools:
            passed.add_metric([name], own.passed_over)
            tokens.add_metric([name], own.output_tokens)
            latency.add_metric([name], own.buckets(), own.latency_sum_s)
        yield from (passed, tokens, latency)

    def describe(self) -> list[Family]:
        """Names are known without collecting (prometheus_client)."""
        return list(self.collect())


def _gauge(row: Metric, values: Iterable[tuple[str, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(row.name, row.help, labels=row.labels)
    for name, value in values:
        family.add_metric([name], value)
    return family


def _counter(row: Metric) -> CounterMetricFamily:
    return CounterMetricFamily(row.family, row.help, labels=row.labels)
