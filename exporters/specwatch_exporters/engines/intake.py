"""Table-driven intake: raw samples to canonical series, the part that all page readers share."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from specwatch_exporters import catalog
from specwatch_exporters.page import UNKNOWN_MODEL, Key, Page, SeriesId

SUMMED_GAUGES = frozenset({catalog.RUNNING.name, catalog.WAITING.name, catalog.WAITING_BY_REASON.name})
MAX_LABEL_LENGTH = 256
MAX_VALUE = 1e18
_PARTS = ("_bucket", "_sum", "_count")


class Target(NamedTuple):
    """Where a raw sample goes.

    Attributes:
        metric: catalogue name (with a histogram's suffix), or a name of the reader's own.
        kind: `counter`, `gauge`, `fact` (a number of the model) or `reading` (a gauge that the reader interprets).
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
        own_counters: raw name to a name of the reader's own, for counters that are not exported.
        facts: raw name to fact name, for numbers that have no metric of their own.
        readings: raw names of gauges that the reader interprets.
        legacy: former raw names among the above.
        model_labels: labels that hold the model, first match wins.
        rank_label: label that tells data-parallel ranks of one process apart.
        copy_labels: labels whose values are copies of one series (ranks, processes), not parts of a sum.
        copied_gauges_only: True if only gauges are copied so.
        own_labels: further labels that the engine itself writes. Any other label was added by whoever collected
            the page, and tells instances apart.
        total_label: label that is empty on the total of its other values, or empty.
        ignored: label and value of series that repeat others, or empty.
        gauge_counters: True if a counter exposed as a gauge is one all the same (Ray 2.52).
    """

    counters: Mapping[str, tuple[catalog.Metric, str]]
    gauges: Mapping[str, tuple[catalog.Metric, str]]
    histograms: Mapping[str, catalog.Metric]
    own_counters: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    readings: frozenset[str] = frozenset()
    legacy: frozenset[str] = frozenset()
    model_labels: tuple[str, ...] = ("model_name", "model")
    rank_label: str = "engine"
    copy_labels: frozenset[str] = frozenset()
    copied_gauges_only: bool = False
    own_labels: frozenset[str] = frozenset()
    total_label: str = ""
    ignored: tuple[str, str] = ("", "")
    gauge_counters: bool = False

    def targets(self) -> dict[str, Target]:
        """Lookup by raw name, without prefix, for every spelling that engines use."""
        table: dict[str, Target] = {}
        for raw, (metric, label) in self.counters.items():
            table[raw] = table[f"{raw}_total"] = Target(metric.name, "counter", label, raw in self.legacy)
        for raw, name in self.own_counters.items():
            table[raw] = table[f"{raw}_total"] = Target(name, "counter")
        for raw, (metric, label) in self.gauges.items():
            table[raw] = Target(metric.name, "gauge", label, raw in self.legacy)
        for raw, metric in self.histograms.items():
            for part in _PARTS:
                label = "le" if part == "_bucket" else ""
                table[raw + part] = Target(metric.name + part, "counter", label, raw in self.legacy)
        for raw, fact in self.facts.items():
            table[raw] = table[f"{raw}_total"] = Target(fact, "fact")
        for raw in self.readings:
            table[raw] = Target(raw, "reading")
        return table

    def known_labels(self) -> frozenset[str]:
        """Every label that this engine writes on the series in the table."""
        labels = {label for _, label in (*self.counters.values(), *self.gauges.values()) if label}
        labels |= {*self.model_labels, self.rank_label, self.total_label, self.ignored[0], "le"}
        return frozenset(labels) | self.copy_labels | self.own_labels


class Intake:
    """Fills a `Page` from families.

    Attributes:
        readings: per (model, engine), the gauges that the reader interprets; copies are the largest value.
    """

    def __init__(self, page: Page, dialect: Dialect, targets: Mapping[str, Target]) -> None:
        self.readings: dict[tuple[str, str], dict[str, float]] = {}
        self._page = page
        self._dialect = dialect
        self._targets = targets
        self._known_labels = dialect.known_labels()
        self._labels_of: dict[SeriesId, Mapping[str, str]] = {}
        self._gauges: dict[SeriesId, float] = {}
        self._totals: set[tuple[str, str, str]] = set()
        self._legacy: list[tuple[str, SeriesId, float, str]] = []

    def take(self, families: Iterable[Family], strip: Mapping[str, str]) -> None:
        """Read all samples.

        Args:
            families: parsed page.
            strip: raw sample name to name without prefix; names that are not in it are ignored.
        """
        taken = []
        for family in families:
            for sample in family.samples:
                raw = strip.get(sample.name)
                target = None if raw is None else self._targets.get(raw)
                if target is not None and not self._repeats(sample.labels):
                    taken.append((sample, target, family.type))
        self._find_totals(taken)
        for sample, target, kind in taken:
            self._one(sample, target, kind)
        self._settle_legacy()
        self._settle_gauges()

    def _repeats(self, labels: Mapping[str, str]) -> bool:
        label, value = self._dialect.ignored
        if not label or labels.get(label) != value:
            return False
        self._page.note("draft_copy", f"Series with {label}={value} repeat the target's; they were left out.")
        return True

    def _find_totals(self, taken: Iterable[tuple[Sample, Target, str]]) -> None:
        """Remember which series come with a total over the values of the total label."""
        label = self._dialect.total_label
        if label:
            for sample, target, _ in taken:
                if sample.labels.get(label) == "":
                    series = self._identify(sample.labels, target)
                    self._totals.add((series.metric, series.model, series.engine))

    def _one(self, sample: Sample, target: Target, family_type: str) -> None:
        value = float(sample.value)
        series = self._identify(sample.labels, target)
        if sample.labels.get(self._dialect.total_label) and series[:3] in self._totals:
            return
        if target.kind in {"fact", "reading"} and math.isfinite(value):
            self._number(series, target, value)
            return
        if not 0 <= value <= MAX_VALUE:
            self._leave_out(sample, series.model)
            return
        if target.kind == "counter" and family_type == "gauge" and not self._accept_gauge(sample.name):
            return
        if target.legacy:
            self._legacy.append((target.kind, series, value, sample.name))
            return
        self._store(target.kind, series, value, sample)

    def _leave_out(self, sample: Sample, model: str) -> None:
        """What cannot be a value says all the same that the model is there: NaN is 0/0, before the first draft."""
        self._page.note("bad_value", f"A sample of {sample.name} is {float(sample.value)}; it was left out.")
        self._page.facts.setdefault(model, {})

    def _number(self, series: SeriesId, target: Target, value: float) -> None:
        if target.kind == "fact":
            facts = self._page.facts.setdefault(series.model, {})
            facts[target.metric] = max(value, facts.get(target.metric) or value)
        else:
            readings = self.readings.setdefault((series.model, series.engine), {})
            readings[target.metric] = max(value, readings.get(target.metric, value))

    def _accept_gauge(self, name: str) -> bool:
        if self._dialect.gauge_counters:
            self._page.note(
                "counter_as_gauge", f"{name} is a counter exposed as a gauge; it was read as a counter."
            )
            return True
        self._page.note(
            "bad_value", f"{name} is a gauge in this version: a last value, not a count; it was left out."
        )
        return False

    def _identify(self, labels: Mapping[str, str], target: Target) -> SeriesId:
        dialect = self._dialect
        used = {target.label, dialect.rank_label, *dialect.model_labels}
        if target.kind != "counter" or not dialect.copied_gauges_only:
            used |= dialect.copy_labels
        own = [
            f"{name}={labels[name]}" for name in sorted(labels) if name in self._known_labels and name not in used
        ]
        instance = instance_name(labels, self._known_labels)
        rank = labels.get(dialect.rank_label) or "0"
        return SeriesId(
            target.metric,
            shortened(model_name(labels, dialect.model_labels)),
            shortened(f"{instance}/{rank}" if instance else rank),
            shortened(_extra(labels, target.label)),
            shortened(",".join(own)),
        )

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
                self._page.note(
                    "renamed_metric", f"{_base(name)} is a former name; read as {_base(series.metric)}."
                )

    def _settle_gauges(self) -> None:
        for series, value in self._gauges.items():
            key = Key(series.metric, series.model, series.engine, series.extra)
            if series.metric == catalog.KV_USAGE.name and value > 1.0:
                self._page.note("bad_value", f"A KV cache use of {value:g} is no share of 1; it was left out.")
                continue
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


def shortened(text: str) -> str:
    """A label value of bounded length; a checksum keeps long ones apart."""
    if len(text) <= MAX_LABEL_LENGTH:
        return text
    return f"{text[: MAX_LABEL_LENGTH - 9]}~{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def model_name(labels: Mapping[str, str], names: Sequence[str]) -> str:
    """The model that a series is about, or `UNKNOWN_MODEL`."""
    return next((labels[name] for name in names if labels.get(name)), UNKNOWN_MODEL)


def instance_name(labels: Mapping[str, str], known_labels: frozenset[str]) -> str:
    """Values of all labels that the engine does not write itself, by label name; empty for a page of one engine."""
    return "/".join(labels[name] for name in sorted(labels) if name not in known_labels and labels[name])


def _extra(labels: Mapping[str, str], label: str) -> str:
    if label.startswith("="):
        return label[1:]
    value = labels.get(label, "") if label else ""
    return _edge(value) if label == "le" else value


@lru_cache(maxsize=4096)
def _edge(text: str) -> str:
    """One spelling per bucket edge: engines write 1, 1.0 and 1e0."""
    try:
        return str(floatToGoString(float(text)))
    except ValueError:
        return text


def _base(name: str) -> str:
    for part in _PARTS:
        name = name.removesuffix(part)
    return name
