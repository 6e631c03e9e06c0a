"""One row of the catalogue: what an exported metric is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from typing import Final


class Kind(StrEnum):
    """Prometheus type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Source(Flag):
    """Which parts of specwatch export a metric: one, or several joined by `|`.

    As text, the parts in words: `scrape sidecar, vLLM plugin`.
    """

    SCRAPE = auto()
    REQUEST = auto()
    PLUGIN = auto()
    DETECT = auto()
    SLACK = auto()

    def __str__(self) -> str:
        return ", ".join(_IN_WORDS[part] for part in self)


_IN_WORDS: Final = {
    Source.SCRAPE: "scrape sidecar",
    Source.REQUEST: "request sidecar",
    Source.PLUGIN: "vLLM plugin",
    Source.DETECT: "detectors",
    Source.SLACK: "Slack receiver",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One exported metric.

    Attributes:
        name: exposed name; a counter's ends in `_total`.
        kind: Prometheus type.
        labels: label names, in the order used by every producer.
        help: definition in one or two sentences, unit included.
        source: the parts of specwatch that export it; ask with `in`.
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
