"""How the requests of a level ended and how long they took, out of the series of its pods.

Each is asked as `METRIC{MATCH}[Ns]`: raw samples, whose increases are exact whatever the scrape interval is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from specwatch_deploy.actuators.pool_figures import PoolFigures
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.watch.pod_labels import Labels, PodLabels
from specwatch_detectors.watch.source import Source
from specwatch_exporters import catalog, request_catalog
from specwatch_exporters.metric import Metric
from specwatch_exporters.request_labels import UNKNOWN

LEAD_S: Final = 120.0
"""How far before a span the sample is looked for that its increase counts from: two lost scrapes at 30 s."""


@dataclass(frozen=True, slots=True)
class HealthRows:
    """The rows of the catalogue that health is read from.

    Attributes:
        requests: counts requests that ended, by `outcome`.
        latency: histogram of their end-to-end time.
        failed: outcomes of the engine's making.
        unreachable: outcomes that say that nothing answered.
        silent: outcomes that say nothing of the engine: the client left, or it was refused.
    """

    requests: Metric
    latency: Metric
    failed: frozenset[str]
    unreachable: frozenset[str]
    silent: frozenset[str]


ROWS: Final[Mapping[str, HealthRows]] = {
    "request": HealthRows(
        request_catalog.FINISHED,
        request_catalog.E2E,
        frozenset({"error", "cut", "unreachable"}),
        frozenset({"unreachable"}),
        frozenset({"aborted", "rejected"}),
    ),
    "engine": HealthRows(catalog.REQUESTS, catalog.E2E, frozenset({"error"}), frozenset(), frozenset({"abort"})),
}
"""By what `[lever] health` names: what users saw (request sidecar, vLLM plugin), or what engines count."""


class SeriesFigures:
    """Reads the figures of levels.

    Args:
        source: gives samples.
        model: served name.
        rule: tells levels apart.
        rows: what is read.
        labels: tells pods apart.
    """

    def __init__(
        self, source: Source, model: str, rule: LevelRule, rows: HealthRows, labels: PodLabels | None = None
    ) -> None:
        self._source = source
        self._model = model
        self._rule = rule
        self._rows = rows
        self._labels = labels or PodLabels()

    @property
    def name(self) -> str:
        """Metric that requests are counted by."""
        return self._rows.requests.name

    def of(self, levels: Collection[Level], start: float, end: float) -> PoolFigures:
        """Requests of some levels that ended with start < time <= end.

        Args:
            levels: whose.
            start: whole epoch seconds.
            end: whole epoch seconds.

        Raises:
            SourceError: there is no answer.
            KeyError, TypeError, ValueError: it holds no samples.
        """
        rows = self._rows
        ended: dict[str, int] = defaultdict(int)
        for labels, grown in self._grown(rows.requests.name, rows.requests.labels, levels, start, end):
            ended[labels["outcome"]] += grown
        buckets: dict[float, int] = defaultdict(int)
        name, own = f"{rows.latency.name}_bucket", (*rows.latency.labels, "le")
        for labels, grown in self._grown(name, own, levels, start, end):
            buckets[float(labels["le"])] += grown
        edges = tuple(sorted(buckets))
        cumulative = [0, *(buckets[edge] for edge in edges)]
        return PoolFigures(
            ended=sum(count for outcome, count in ended.items() if outcome not in rows.silent),
            failed=sum(ended[outcome] for outcome in rows.failed & ended.keys()),
            unreachable=sum(ended[outcome] for outcome in rows.unreachable & ended.keys()),
            edges=edges,
            latencies=tuple(max(0, more - less) for less, more in pairwise(cumulative)),
        )

    def _grown(
        self, metric: str, own: Sequence[str], levels: Collection[Level], start: float, end: float
    ) -> Iterator[tuple[Mapping[str, str], int]]:
        """Increase of each counter; two views of one counter are not added.

        A pod that has answered nothing yet does not know its model, and those are the failures that count.
        """
        pods: dict[Labels, list[tuple[Mapping[str, str], Samples]]] = defaultdict(list)
        for series in self._source.fetch(metric, start - LEAD_S, end):
            labels, samples = series["metric"], _samples(series["values"])
            if samples and labels.get("model") in {self._model, UNKNOWN} and self._belongs(labels, levels):
                pods[self._labels.split(labels, frozenset(own))[0]].append((labels, samples))
        for found in pods.values():
            since = max(start, min(samples[0][0] for _, samples in found))
            views: dict[Labels, tuple[Mapping[str, str], int]] = {}
            for labels, samples in found:
                key = tuple((name, labels.get(name, "")) for name in own)
                grown = _increase(samples, since)
                if key not in views or views[key][1] < grown:
                    views[key] = labels, grown
            yield from views.values()

    def _belongs(self, labels: Mapping[str, str], levels: Collection[Level]) -> bool:
        return any(self._rule.level(labels, level) is level for level in levels)


Samples = Sequence[tuple[float, float]]


def _samples(values: Sequence[Sequence[str]]) -> Samples:
    pairs = ((float(at), float(value)) for at, value in values)
    return [(at, value) for at, value in pairs if math.isfinite(value)]


def _increase(samples: Samples, since: float) -> int:
    """What a counter counted since a time at which its pod was seen; one that came later began at 0.

    A counter that fell has started again and adds what it shows.
    """
    before = [value for at, value in samples if at <= since]
    values = [before[-1] if before else 0.0, *(value for at, value in samples if at > since)]
    return round(sum(after - was if after >= was else after for was, after in pairwise(values)))
