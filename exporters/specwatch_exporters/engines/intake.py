"""Table-driven intake: raw samples to canonical series, the part that all page readers share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from specwatch_exporters import catalog
from specwatch_exporters.page import UNKNOWN_MODEL, Key, Page, SeriesId

SUMMED_GAUGES = frozenset({catalog.RUNNING.name, catalog.WAITING.name, catalog.WAITING_BY_REASON.name})


class Target(NamedTuple):
    """Where a raw sample goes.

    Attributes:
        metric: catalogue name (with a histogram's suffix), or the name of a fact.
        kind: `counter`, `gauge` or `fact`.
        label: raw label that becomes the canonical one (position, reason, ...), or empty; with a leading `=`,
            the canonical value itself.
        legacy: True for a former name; it counts only if the present name is not on the page.
    """

    metric: str
    kind: str
    label: str = ""
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine writes its page.

    Attributes:
        counters: raw name without prefix and `_total` to (catalogue metric, its raw label).
        gauges: likewise.
        histograms: raw name to catalogue metric.
        facts: raw name to fact name, for numbers that have no metric of their own.
        legacy: former raw names among the above.
        model_labels: labels that hold the model, first match wins.
        engine_labels: labels that tell engines (data-parallel ranks) apart.
        copy_labels: labels whose values are copies of one series (ranks, processes), not parts of a sum.
    """

    counters: Mapping[str, tuple[catalog.Metric, str]]
    gauges: Mapping[str, tuple[catalog.Metric, str]]
    histograms: Mapping[str, catalog.Metric]
    facts: Mapping[str, str] = field(default_factory=dict)
    legacy: frozenset[str] = frozenset()
    model_labels: tuple[str, ...] = ("model_name", "model")
    engine_labels: tuple[str, ...] = ("engine",)
    copy_labels: frozenset[str] = frozenset()
    copied_gauges_only: bool = False

    def targets(self) -> dict[str, Target]:
        """Lookup by raw name, without prefix, for every spelling that engines use."""
        table: dict[str, Target] = {}
        for raw, (metric, label) in self.counters.items():
            table[raw] = table[f"{raw}_total"] = Target(metric.name, "counter", label, raw in self.legacy)
        for raw, (metric, label) in self.gauges.items():
            table[raw] = Target(metric.name, "gauge", label, raw in self.legacy)
        for raw, metric in self.histograms.items():
            for suffix in ("_bucket", "_sum", "_count"):
                label = "le" if suffix == "_bucket" else ""
                table[raw + suffix] = Target(metric.name + suffix, "counter", label, raw in self.legacy)
        for raw, fact in self.facts.items():
            table[raw] = table[f"{raw}_total"] = Target(fact, "fact")
        return table


# Labels by which a collector or orchestrator tells instances apart; the first one present is used.
INSTANCE_LABELS = ("pod", "instance", "worker_id", "ReplicaId", "WorkerId", "server")
_IMPOSSIBLE = "A sample of {name} is {value}; it was left out."


class Intake:
    """Fills a `Page` from families."""

    def __init__(self, page: Page, dialect: Dialect, targets: Mapping[str, Target]) -> None:
        self._page = page
        self._dialect = dialect
        self._targets = targets
        self._labels_of: dict[SeriesId, Mapping[str, str]] = {}
        self._gauges: dict[SeriesId, float] = {}
        self._legacy: list[tuple[str, SeriesId, float, str]] = []

    def take(self, families: Iterable[Family], strip: Mapping[str, str]) -> None:
        """Read all samples.

        Args:
            families: parsed page.
            strip: raw sample name to name without prefix; names that are not in it are ignored.
        """
        for family in families:
            for sample in family.samples:
                raw = strip.get(sample.name)
                target = None if raw is None else self._targets.get(raw)
                if target is not None:
                    self._one(sample, target, family.type)
        self._settle_legacy()
        self._settle_gauges()

    def _one(self, sample: Sample, target: Target, family_type: str) -> None:
        value = float(sample.value)
        series = self._identify(sample.labels, target)
        if target.kind == "fact":
            self._page.facts.setdefault(series.model, {})
            self._add_fact(series.model, target.metric, value)
            return
        if not math.isfinite(value) or (value < 0 and not target.metric.endswith("_sum")):
            self._page.note("bad_value", _IMPOSSIBLE.format(name=sample.name, value=value))
            return
        if target.kind == "counter" and family_type == "gauge":
            message = f"{sample.name} is a counter exposed as a gauge; it was read as a counter."
            self._page.note("counter_as_gauge", message)
        if target.legacy:
            self._legacy.append((target.kind, series, value, sample.name))
            return
        self._store(target.kind, series, value, sample)

    def _add_fact(self, model: str, name: str, value: float) -> None:
        if math.isfinite(value):
            facts = self._page.facts[model]
            facts[name] = (facts.get(name) or 0.0) + value

    def _identify(self, labels: Mapping[str, str], target: Target) -> SeriesId:
        dialect = self._dialect
        used = {target.label, *dialect.model_labels, *dialect.engine_labels, *INSTANCE_LABELS}
        if target.kind != "counter" or not dialect.copied_gauges_only:
            used |= dialect.copy_labels
        rest = [f"{name}={labels[name]}" for name in sorted(labels) if name not in used]
        model = _first(labels, dialect.model_labels) or UNKNOWN_MODEL
        extra = _extra(labels, target.label)
        return SeriesId(target.metric, model, _engine(labels, dialect.engine_labels), extra, ",".join(rest))

    def _store(self, kind: str, series: SeriesId, value: float, sample: Sample) -> None:
        store = self._page.counters if kind == "counter" else self._gauges
        known = store.get(series)
        if known is not None:
            if self._labels_of[series] == sample.labels:
                self._page.note("duplicate_series", f"{sample.name} appears twice with the same labels.")
            value = max(known, value)
        else:
            self._labels_of[series] = sample.labels
        store[series] = value

    def _settle_legacy(self) -> None:
        present = {series.metric for series in (*self._page.counters, *self._gauges)}
        for kind, series, value, name in self._legacy:
            if series.metric not in present:
                store = self._page.counters if kind == "counter" else self._gauges
                store[series] = max(value, store.get(series, value))
                base = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
                self._page.note("renamed_metric", f"{base} is a former name; read as {_base(series.metric)}.")

    def _settle_gauges(self) -> None:
        for series, value in self._gauges.items():
            key = Key(series.metric, series.model, series.engine, series.extra)
            known = self._page.gauges.get(key)
            if known is None:
                self._page.gauges[key] = value
            elif series.metric in SUMMED_GAUGES:
                self._page.gauges[key] = known + value
            else:
                self._page.gauges[key] = max(known, value)


def sample_names(families: Iterable[Family]) -> frozenset[str]:
    """All sample names on a page."""
    return frozenset(sample.name for family in families for sample in family.samples)


def strip_prefixes(names: Iterable[str], prefixes: Sequence[str]) -> dict[str, str]:
    """Map each name that starts with one of the prefixes to the name without it; longest prefix first."""
    ordered = sorted(prefixes, key=len, reverse=True)
    stripped: dict[str, str] = {}
    for name in names:
        for prefix in ordered:
            if name.startswith(prefix):
                stripped[name] = name[len(prefix) :]
                break
    return stripped


def _first(labels: Mapping[str, str], names: Sequence[str]) -> str:
    for name in names:
        value = labels.get(name)
        if value:
            return value
    return ""


def _engine(labels: Mapping[str, str], names: Sequence[str]) -> str:
    instance = _first(labels, INSTANCE_LABELS)
    engine = _first(labels, names)
    if instance and engine:
        return f"{instance}/{engine}"
    return instance or engine or "0"


def _extra(labels: Mapping[str, str], label: str) -> str:
    if label.startswith("="):
        return label[1:]
    value = labels.get(label, "") if label else ""
    return _edge(value) if label == "le" else value


@cache
def _edge(text: str) -> str:
    """One spelling per bucket edge: engines write 1, 1.0 and 1e0."""
    try:
        return str(floatToGoString(float(text)))
    except ValueError:
        return text


def _base(metric: str) -> str:
    return metric.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
