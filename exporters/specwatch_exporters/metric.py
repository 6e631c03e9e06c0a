"""One row of the catalogue: what an exported metric is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Prometheus type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Source(StrEnum):
    """Which part of specwatch exports a metric."""

    SCRAPE = "scrape sidecar"
    REQUEST = "request sidecar and vLLM plugin"


@dataclass(frozen=True, slots=True)
class Metric:
    """One exported metric.

    Attributes:
        name: exposed name; a counter's ends in `_total`.
        kind: Prometheus type.
        labels: label names, in the order used by every producer.
        help: definition in one or two sentences, unit included.
        source: the part of specwatch that exports it.
        buckets: finite upper edges of a histogram that specwatch observes itself; empty where the edges are the
            engine's.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    source: Source = Source.SCRAPE
    buckets: tuple[float, ...] = ()

    @property
    def family(self) -> str:
        """Name as prometheus_client wants it: a counter's without `_total`."""
        return self.name.removesuffix("_total") if self.kind is Kind.COUNTER else self.name
