"""What is known of a metric by name: kind, labels, bucket edges.

Ours from the catalogue, the engines' newest from their tables, those of others from `upstream_metrics.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from specwatch_exporters.catalog import CATALOG
from specwatch_exporters.engine_metrics.metric_table import PARTS, load_tables
from specwatch_exporters.engines import sglang, vllm_v1
from specwatch_exporters.metric import Kind

# Engines that rules are built for, with our metric by the histogram that it carries.
_CARRIED: Final = {"sglang": sglang.DIALECT.histograms, "vllm": vllm_v1.DIALECT.histograms}
# Labels that Prometheus and its operator add to every series of a target.
TARGET_LABELS: Final = frozenset(
    {"job", "instance", "namespace", "pod", "container", "service", "endpoint", "node", "cluster", "prometheus"}
)
EXPORTED: Final = "exported_"
CREATED: Final = "_created"


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """One metric.

    Attributes:
        kind: Prometheus type.
        labels: labels of the exporter; those of the target come on top.
        edges: sets of finite bucket edges, one for each engine that has it; empty where nobody knows.
        source: who exports it, in one word.
    """

    kind: Kind
    labels: frozenset[str]
    edges: Mapping[str, tuple[float, ...]]
    source: str


@cache
def known_metrics() -> Mapping[str, MetricFacts]:
    """All metrics that anything is known of, by name; a histogram under its base name."""
    text = (files("specwatch_alerts") / "upstream_metrics.toml").read_text(encoding="utf-8")
    found = {
        name: MetricFacts(Kind(row["kind"]), frozenset(row["labels"]), {}, row["source"])
        for row in tomllib.loads(text)["metrics"]
        for name in row["names"]
    }
    carried: dict[str, dict[str, tuple[float, ...]]] = {}
    for engine, histograms in _CARRIED.items():
        table = load_tables()[engine]
        for name in table.rows:
            row = table.at(name)
            if row is None or row.labels is None:
                continue
            edges = {engine: row.edges} if row.edges else {}
            found[name] = MetricFacts(row.kind, row.labels, edges, engine)
            ours = histograms.get(name.removeprefix(table.prefix))
            if ours is not None and row.edges:
                carried.setdefault(ours.name, {})[engine] = row.edges
    for metric in CATALOG:
        own = {"specwatch": metric.buckets} if metric.buckets else carried.get(metric.name, {})
        found[metric.name] = MetricFacts(metric.kind, frozenset(metric.labels), own, "specwatch")
    return found


def facts_of(name: str) -> MetricFacts | None:
    """Facts of a series' metric, parts of a histogram included; None if nothing is known."""
    known = known_metrics()
    if name in known:
        return known[name]
    for part in PARTS:
        base = name.removesuffix(part)
        if base != name and base in known and known[base].kind is Kind.HISTOGRAM:
            return known[base]
    return _created(name, known)


def _created(name: str, known: Mapping[str, MetricFacts]) -> MetricFacts | None:
    """Facts of the time at which prometheus_client made a counter or a histogram; None if it is of neither."""
    base = name.removesuffix(CREATED)
    made = known.get(f"{base}_total", known.get(base)) if base != name else None
    return (
        None if made is None or made.kind is Kind.GAUGE else MetricFacts(Kind.GAUGE, made.labels, {}, made.source)
    )
