"""What is known of a metric by name: kind, labels, bucket edges; from the catalogue and `upstream_metrics.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from specwatch_exporters.catalog import CATALOG
from specwatch_exporters.metric import Kind

PARTS: Final = ("_bucket", "_sum", "_count")
# Labels that Prometheus and its operator add to every series of a target.
TARGET_LABELS: Final = frozenset(
    {"job", "instance", "namespace", "pod", "container", "service", "endpoint", "node", "cluster", "prometheus"}
)
EXPORTED: Final = "exported_"


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
    table = tomllib.loads((files("specwatch_alerts") / "upstream_metrics.toml").read_text(encoding="utf-8"))
    found: dict[str, MetricFacts] = {}
    carried: dict[str, dict[str, tuple[float, ...]]] = {}
    for row in table["metrics"]:
        source, edges = row["source"], tuple(float(edge) for edge in row.get("edges", ()))
        for name in row["names"]:
            by_source = {source: edges} if edges else {}
            found[name] = MetricFacts(Kind(row["kind"]), frozenset(row["labels"]), by_source, source)
        if "carried_as" in row:
            carried.setdefault(row["carried_as"], {})[source] = edges
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
    return None
