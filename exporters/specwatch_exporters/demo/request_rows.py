"""What the request sidecar adds to the live view: acceptance per class, latency per batch size, and its pools."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from specwatch_exporters import pool_catalog, request_catalog
from specwatch_exporters.acceptance import Tally, ratio
from specwatch_exporters.demo.moment import BatchRow, ClassRow, PoolRow
from specwatch_exporters.metric import Metric
from specwatch_exporters.page import Key
from specwatch_exporters.request_labels import BATCH_LABELS
from specwatch_exporters.sidecar.recent import Recent

WINDOW_S = 15.0
_BY_CLASS = (request_catalog.DRAFTS, request_catalog.DRAFT_TOKENS, request_catalog.ACCEPTED_TOKENS)
_OF_METHOD = "by method"
_BY_BATCH = (request_catalog.INTER_TOKEN, request_catalog.TTFT, request_catalog.E2E)


class RequestRows:
    """Reads the request sidecar's registry and keeps a short window of it.

    Args:
        registry: of a running request sidecar.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._recent = Recent(WINDOW_S)
        self._shares: dict[str, float] = {}
        self._in_flight: dict[str, int] = {}

    def take(self, now: float) -> None:
        """Read the registry at a time, monotonic seconds."""
        totals: dict[Key, float] = {}
        by_class = {metric.name for metric in _BY_CLASS}
        by_batch = {f"{metric.name}{part}" for metric in _BY_BATCH for part in ("_sum", "_count")}
        for family in self._registry.collect():
            for sample in family.samples:
                if sample.name in by_class:
                    key = Key(sample.name, "", "", sample.labels["traffic_class"])
                    own = Key(sample.name, _OF_METHOD, "", sample.labels["speculation"])
                    totals[own] = totals.get(own, 0.0) + sample.value
                elif sample.name == pool_catalog.OUTPUT_TOKENS.name:
                    key = Key(sample.name, _OF_METHOD, "", sample.labels["pool"])
                elif sample.name == pool_catalog.SHARE.name:
                    self._shares[sample.labels["pool"]] = sample.value
                    continue
                elif sample.name == pool_catalog.IN_FLIGHT.name:
                    self._in_flight[sample.labels["pool"]] = int(sample.value)
                    continue
                elif sample.name in by_batch:
                    key = Key(sample.name, "", "", sample.labels["batch"])
                else:
                    continue
                totals[key] = totals.get(key, 0.0) + sample.value
        self._recent.add(now, totals)

    def classes(self) -> tuple[ClassRow, ...]:
        """Acceptance per class over the window, by name."""
        increases = self._recent.increases()
        rows = []
        drafts_of = (key for key in increases if key.metric == request_catalog.DRAFTS.name and not key.model)
        for name in sorted({key.extra for key in drafts_of}):
            drafts, tokens, accepted = (increases.get(Key(metric.name, "", "", name)) for metric in _BY_CLASS)
            own = Tally(drafts=drafts, draft_tokens=tokens, accepted_tokens=accepted)
            rows.append(ClassRow(name, own.acceptance_rate, own.mean_acceptance_length))
        return tuple(rows)

    def pools(self) -> tuple[PoolRow, ...]:
        """The pools, in order; their names are their methods."""
        increases, span = self._recent.increases(), self._recent.span_s()
        rows = []
        for name, share in self._shares.items():
            drafts, tokens, accepted = (
                increases.get(Key(metric.name, _OF_METHOD, "", name)) for metric in _BY_CLASS
            )
            made = increases.get(Key(pool_catalog.OUTPUT_TOKENS.name, _OF_METHOD, "", name))
            rate = made / span if made is not None and span > 0.0 else None
            length = Tally(drafts=drafts, draft_tokens=tokens, accepted_tokens=accepted).mean_acceptance_length
            rows.append(PoolRow(name, share, self._in_flight.get(name, 0), rate, length))
        return tuple(rows)

    def batches(self) -> tuple[BatchRow, ...]:
        """Mean latencies per batch bucket over the window, smallest batch first."""
        increases = self._recent.increases()
        edges = {key.extra for key in increases}
        rows = []
        for edge in (label for label in BATCH_LABELS if label in edges):
            means = [_mean(increases, metric, edge) for metric in _BY_BATCH]
            if any(mean is not None for mean in means):
                rows.append(BatchRow(edge, *means))
        return tuple(rows)


def _mean(increases: Mapping[Key, float], metric: Metric, batch: str) -> float | None:
    total, count = (increases.get(Key(f"{metric.name}{part}", "", "", batch)) for part in ("_sum", "_count"))
    return ratio(total, count)
