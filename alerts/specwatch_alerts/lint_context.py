"""What the checks of the lint know beside the expression: intervals, and what is known of each metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specwatch_alerts.metric_facts import EXPORTED, TARGET_LABELS, MetricFacts, facts_of
from specwatch_exporters.engine_metrics.metric_table import PARTS
from specwatch_exporters.metric import Kind


@dataclass(frozen=True, slots=True)
class LintContext:
    """Surroundings of a rule.

    Attributes:
        scrape_seconds: scrape interval of the series.
        recorded: labels of the series that the file records, by name; None where they cannot be told.
        expected: prefixes and names recorded elsewhere, taken as known.
    """

    scrape_seconds: float
    recorded: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    expected: frozenset[str] = frozenset()

    def facts(self, name: str) -> MetricFacts | None:
        """Facts of a metric; None if nothing is known."""
        return facts_of(name)

    def is_counter(self, name: str) -> bool | None:
        """Whether the series only grows; by its name where nothing is known; None if that does not tell either.

        Parts of a histogram grow. A recorded series is whatever its rule makes of it: no counter.
        """
        if ":" in name and facts_of(name) is None and name in self.recorded:
            return False
        facts = facts_of(name)
        if facts is not None:
            return facts.kind is not Kind.GAUGE
        return True if name.endswith(("_total", *PARTS)) and ":" not in name else None

    def labels(self, name: str) -> frozenset[str] | None:
        """All labels that a series can have, those of the target included; None if they are not known."""
        facts = facts_of(name)
        if facts is None:
            return self.recorded.get(name)
        own = facts.labels | ({"le"} if name.endswith("_bucket") else set())
        exported = {f"{EXPORTED}{label}" for label in TARGET_LABELS}
        return frozenset(own | TARGET_LABELS | exported)

    def certain(self, name: str) -> frozenset[str]:
        """Labels that every series of a metric has; none if that is not known."""
        del name
        return frozenset()

    def edges(self, name: str) -> frozenset[float] | None:
        """Every edge that some source of a histogram has; None if it has other edges that nobody knows."""
        facts = facts_of(name)
        if facts is None or not facts.edges:
            return None
        return frozenset(edge for edges in facts.edges.values() for edge in edges)
