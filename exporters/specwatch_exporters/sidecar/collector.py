"""The prometheus_client collector: a snapshot in, canonical families out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from specwatch_exporters import catalog
from specwatch_exporters.page import Key
from specwatch_exporters.report import State
from specwatch_exporters.sidecar.snapshot import EngineView, Snapshot
from specwatch_exporters.sidecar.watcher import NoWatcher, Watcher

# What the books and the page give; everything else has a rule of its own below.
_ROWS = tuple(metric for metric in catalog.CATALOG if catalog.Source.SCRAPE in metric.source)
_FROM_TOTALS = tuple(
    metric for metric in _ROWS if metric.kind is catalog.Kind.COUNTER and metric.labels[:1] == ("model",)
)
_FROM_GAUGES = (catalog.RUNNING, catalog.WAITING, catalog.WAITING_BY_REASON, catalog.KV_USAGE)
_HISTOGRAMS = tuple(metric for metric in _ROWS if metric.kind is catalog.Kind.HISTOGRAM)
_DERIVED = (
    catalog.ACCEPTANCE_RATIO,
    catalog.ACCEPTANCE_LENGTH,
    catalog.TOKENS_PER_STEP,
    catalog.TOKEN_LATENCY,
    catalog.SPECULATING_RATIO,
)


class SidecarCollector(Collector):
    """Exports the newest snapshot; the engine's series vanish once it is older than the staleness limit.

    Args:
        snapshot: gives the newest snapshot.
        stale_after_s: age in seconds from which the engine's series are withdrawn.
        version: version of specwatch.
        clock: monotonic seconds, the clock of the snapshots.
        watcher: adds its verdicts.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        stale_after_s: float,
        version: str,
        clock: Callable[[], float] = time.monotonic,
        watcher: Watcher | None = None,
    ) -> None:
        self._watcher = watcher or NoWatcher()
        self._snapshot = snapshot
        self._stale_after_s = stale_after_s
        self._version = version
        self._clock = clock

    def describe(self) -> Iterable[Metric]:
        """No families: registration must not scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield all families of one moment."""
        snapshot = self._snapshot()
        now = self._clock()
        age = now - snapshot.last_success
        if snapshot.engine is not None:
            stale = age > self._stale_after_s
            yield _states(snapshot.engine, stale=stale)
            if not stale:
                yield from _engine(snapshot.engine)
            yield from self._watcher.families(now)
        yield from _scrape(snapshot, age, self._version)


def _engine(view: EngineView) -> Iterator[Metric]:
    for metric in _FROM_TOTALS:
        yield from _family(metric, _rows(view.totals, metric.name), view.definition)
    for metric in _FROM_GAUGES:
        yield from _family(metric, _rows(view.gauges, metric.name), view.definition)
    for metric in _HISTOGRAMS:
        yield from _histogram(metric, view.totals)
    for metric in _DERIVED:
        yield from _derived(metric, view)
    yield from _declared(view)
    info = GaugeMetricFamily(catalog.ENGINE_INFO.name, catalog.ENGINE_INFO.help, labels=catalog.ENGINE_INFO.labels)
    info.add_metric([view.kind, view.dialect, view.facts.version or "unknown"], 1.0)
    yield info


def _rows(values: Mapping[Key, float], name: str) -> list[tuple[Key, float]]:
    return sorted((key, value) for key, value in values.items() if key.metric == name)


def _family(metric: catalog.Metric, rows: list[tuple[Key, float]], definition: str) -> Iterator[Metric]:
    if not rows:
        return
    kind = CounterMetricFamily if metric.kind is catalog.Kind.COUNTER else GaugeMetricFamily
    family = kind(metric.family, metric.help, labels=metric.labels)
    for key, value in rows:
        family.add_metric(_labels(metric, key, definition), value)
    yield family


def _labels(metric: catalog.Metric, key: Key, definition: str) -> list[str]:
    """Label values in the catalogue's order; the last one is the metric's own."""
    known = {"model": key.model, "engine": key.engine, "definition": definition}
    return [known.get(label, key.extra) for label in metric.labels]


def _histogram(metric: catalog.Metric, totals: Mapping[Key, float]) -> Iterator[Metric]:
    buckets: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for key, value in totals.items():
        if key.metric == f"{metric.name}_bucket":
            buckets.setdefault((key.model, key.engine), []).append((key.extra, value))
    if not buckets:
        return
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for (model, engine), edges in sorted(buckets.items()):
        edges.sort(key=lambda edge: float(edge[0]))
        if not math.isinf(float(edges[-1][0])):
            continue
        total = totals.get(Key(f"{metric.name}_sum", model, engine, ""))
        family.add_metric([model, engine], edges, total)
        if total is None:  # a sum that cannot be trusted; prometheus_client then leaves the count out, too
            family.add_sample(f"{metric.name}_count", {"model": model, "engine": engine}, edges[-1][1])
    yield family


def _derived(metric: catalog.Metric, view: EngineView) -> Iterator[Metric]:
    family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for model, values in sorted(view.derived.items()):
        if metric.name in values:
            labels = {"model": model, "definition": view.definition}
            family.add_metric([labels[label] for label in metric.labels], values[metric.name])
    if family.samples:
        yield family


def _declared(view: EngineView) -> Iterator[Metric]:
    info = _gauge(catalog.SPECULATION_INFO)
    depth = _gauge(catalog.NUM_SPECULATIVE_TOKENS)
    adapts = _gauge(catalog.ADAPTS)
    for report in view.recent:
        method = "off" if report.state is State.OFF and report.method is None else report.method or "unknown"
        info.add_metric([report.model, method, report.definition], 1.0)
        if report.speculative_tokens is not None:
            depth.add_metric([report.model], float(report.speculative_tokens))
        if view.facts.adaptive:
            adapts.add_metric([report.model, "adaptive K"], 1.0)
    yield info
    yield from (family for family in (depth, adapts) if family.samples)


def _states(view: EngineView, *, stale: bool) -> Metric:
    family = _gauge(catalog.STATE)
    for report in view.recent:
        now = State.STALE if stale else report.state
        for state in State:
            family.add_metric([report.model, state.value], 1.0 if state is now else 0.0)
    return family


def _scrape(snapshot: Snapshot, age: float, version: str) -> Iterator[Metric]:
    yield CounterMetricFamily(catalog.ENGINE_RESTARTS.family, catalog.ENGINE_RESTARTS.help, snapshot.restarts)
    yield _single(catalog.SCRAPE_SUCCESS, 1.0 if snapshot.success else 0.0)
    yield _single(catalog.SCRAPE_AGE, age)
    if snapshot.duration_s is not None:
        yield _single(catalog.SCRAPE_DURATION, snapshot.duration_s)
    if snapshot.page_bytes is not None:
        yield _single(catalog.PAGE_BYTES, float(snapshot.page_bytes))
    outcomes = CounterMetricFamily(catalog.SCRAPES.family, catalog.SCRAPES.help, labels=catalog.SCRAPES.labels)
    for outcome, count in snapshot.outcomes.items():
        outcomes.add_metric([outcome], count)
    yield outcomes
    warnings = _gauge(catalog.SCRAPE_WARNINGS)
    for code in sorted({notice.code for notice in snapshot.notices}):
        warnings.add_metric([code], 1.0)
    yield warnings
    build = _gauge(catalog.BUILD_INFO)
    build.add_metric([version], 1.0)
    yield build


def _gauge(metric: catalog.Metric) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)


def _single(metric: catalog.Metric, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.help, value)
