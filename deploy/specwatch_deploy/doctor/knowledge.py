"""What is known of the series that the queries read: from the engines, the catalogue, and the rules themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from specwatch_alerts.label_values import CLOSED
from specwatch_alerts.lint_context import LintContext
from specwatch_alerts.metric_facts import EXPORTED, TARGET_LABELS, MetricFacts, facts_of
from specwatch_alerts.promql_tree import Node
from specwatch_deploy.doctor.engine import Engine, newest
from specwatch_deploy.doctor.metric_name import Owner, owner_of
from specwatch_exporters.engine_metrics.metric_table import PARTS, EngineMetric
from specwatch_exporters.metric import Kind

OWN_LIMITS: Final[Mapping[str, tuple[float | None, float | None]]] = dict.fromkeys(
    ("specwatch_acceptance_ratio", "specwatch_kv_cache_usage_ratio", "specwatch_speculating_steps_ratio"),
    (0.0, 1.0),
)
"""Ratios of ours that nobody should sum."""

_ANY: Final = "*"
"""In a table: whatever labels there are."""
_SCRAPED: Final = frozenset({"instance", "job"})
"""Labels that Prometheus gives to every series that it scrapes."""
_SOMETIMES: Final = frozenset(
    {"dp_rank", "engine", "moe_ep_rank", "pid", "pp_rank", "priority", "status", "tp_rank"}
)
"""Labels of engines that depend on how they are started: captured pages lack one or another."""


@dataclass(frozen=True, slots=True)
class Knowledge(LintContext):
    """Surroundings of the queries.

    Attributes:
        engines: by name of the engine, those that were given.
        present: names of series that Prometheus has, of those that the queries read.
        rules: what the recorded series are made of, by name.
        ranges: of recorded series, as far as somebody asked for them.
        engines_only: whether labels of other exporters' series count as unknown: their targets have what they like.
    """

    engines: Mapping[str, tuple[Engine, ...]] = field(default_factory=dict)
    present: frozenset[str] = frozenset()
    rules: Mapping[str, tuple[Node, ...]] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict, compare=False)
    engines_only: bool = False

    def of(self, engine: str) -> Sequence[Engine]:
        """The engines of a kind that are watched; the newest version if none was given."""
        return self.engines.get(engine) or (newest(engine),)

    def rows(self, owner: Owner) -> list[EngineMetric]:
        """What the tables say of a metric in the versions that are watched."""
        found = []
        for engine in self.of(owner.engine):
            row = engine.row(engine.table.base(owner.name))
            if row is not None and row not in found:
                found.append(row)
        return found

    def facts(self, name: str) -> MetricFacts | None:
        """Facts of a metric: of the catalogue or another exporter, or of the engines that are watched."""
        owner = owner_of(name)
        if owner is None:
            return facts_of(name)
        rows = self.rows(owner)
        if not rows:
            return None
        if any(row.labels is None for row in rows):
            return None
        labels = frozenset[str]().union(*(row.labels or frozenset() for row in rows))
        edges = {str(number): row.edges for number, row in enumerate(rows) if row.edges}
        return MetricFacts(rows[-1].kind, labels, edges, owner.engine)

    def is_counter(self, name: str) -> bool | None:
        """Whether the series only grows; None where nothing tells."""
        if name in self.recorded:
            return False
        facts = self.facts(name)
        if facts is not None and facts.kind is Kind.HISTOGRAM and not name.endswith(PARTS):
            return None  # there is no such series
        if facts is not None:
            return facts.kind is not Kind.GAUGE and not name.endswith("_created")
        return None

    def labels(self, name: str) -> frozenset[str] | None:
        """All labels that a series can have, those of targets and of pages included; None if they are not known."""
        left_out = name in self.recorded or (self.engines_only and owner_of(name) is None)
        facts = None if left_out else self.facts(name)
        if facts is None or _ANY in facts.labels:
            return self.recorded.get(name)
        own = facts.labels | ({"le"} if name.endswith("_bucket") else set())
        exported = {f"{EXPORTED}{label}" for label in TARGET_LABELS}
        return frozenset(own | TARGET_LABELS | exported | self._seen(name))

    def certain(self, name: str) -> frozenset[str]:
        """Labels that every series has; of engines only, and not those that depend on how one is started."""
        owner = owner_of(name)
        rows = [] if owner is None or name in self.recorded else self.rows(owner)
        if not rows or any(row.labels is None or _ANY in row.labels for row in rows):
            return frozenset()
        shared = frozenset.intersection(*(frozenset(row.labels or ()) for row in rows)) - _SOMETIMES
        return shared | _SCRAPED | ({"le"} if name.endswith("_bucket") else set())

    def limits(self, name: str) -> tuple[float | None, float | None]:
        """Smallest and largest value of a metric; None where there is no limit or nobody knows."""
        owner = owner_of(name)
        if owner is None:
            return OWN_LIMITS.get(name, (None, None))
        rows = self.rows(owner) or [*self.of(owner.engine)[0].table.rows.get(owner.name, ())]
        return rows[-1].range if rows else (None, None)

    def edges(self, name: str) -> frozenset[float] | None:
        """Every edge that some engine has; of pages where there are any; None if they are not known."""
        owner = owner_of(name)
        if owner is None:
            return LintContext.edges(self, name)
        found: set[float] = set()
        for engine in self.of(owner.engine):
            shown = (engine.page or {}).get(_shown(engine, owner))
            if shown is not None and "le" in shown.values:
                found |= {float(edge) for edge in shown.values["le"]}
                continue
            row = engine.row(engine.table.base(owner.name))
            if row is None or not row.edges:
                return None
            found |= set(row.edges)
        return frozenset(found) - {float("inf")}

    def values(self, name: str, label: str) -> frozenset[str] | None:
        """The only values of a label, or None if it can have others."""
        owner = owner_of(name)
        if owner is None:
            return CLOSED.get((name, label))
        rows = [row for row in self.rows(owner) if row.values and label in row.values]
        listed = frozenset[str]().union(*((row.values or {})[label] for row in rows)) if rows else None
        shown = self._shown_values(owner, label)
        return listed | shown if listed is not None else None

    def _shown_values(self, owner: Owner, label: str) -> frozenset[str]:
        seen = frozenset[str]()
        for engine in self.of(owner.engine):
            one = (engine.page or {}).get(_shown(engine, owner))
            seen |= one.values.get(label, frozenset()) if one is not None else frozenset()
        return seen

    def _seen(self, name: str) -> frozenset[str]:
        """Labels of a series on the pages."""
        owner = owner_of(name)
        if owner is None:
            return frozenset()
        shown = [(engine.page or {}).get(_shown(engine, owner)) for engine in self.of(owner.engine)]
        return frozenset[str]().union(*(set(one.values) for one in shown if one is not None))


def _shown(engine: Engine, owner: Owner) -> str:
    """The name that a series has on an engine's page."""
    return f"{engine.prefix}{owner.name.removeprefix(engine.table.prefix)}"
