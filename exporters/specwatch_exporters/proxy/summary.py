"""What the request sidecar has seen since it started, for people: requests by class and outcome, acceptance."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from specwatch_exporters import request_catalog
from specwatch_exporters.acceptance import Tally


@dataclass(slots=True)
class ClassSummary:
    """One traffic class.

    Attributes:
        in_flight: requests under way.
        oldest_waiting_s: age of the oldest streamed request without a token.
        outcomes: requests that ended, by outcome.
        tally: speculative counts.
    """

    in_flight: int = 0
    oldest_waiting_s: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "in_flight": self.in_flight,
            "oldest_waiting_s": self.oldest_waiting_s,
            "outcomes": self.outcomes,
            "acceptance_rate": self.tally.acceptance_rate,
            "mean_acceptance_length": self.tally.mean_acceptance_length,
        }


_COUNTS = {
    request_catalog.DRAFTS.name: "drafts",
    request_catalog.DRAFT_TOKENS.name: "draft_tokens",
    request_catalog.ACCEPTED_TOKENS.name: "accepted_tokens",
}


def summarise(registry: CollectorRegistry) -> dict[str, ClassSummary]:
    """Read the registry: one summary per class, in order of name."""
    classes: defaultdict[str, ClassSummary] = defaultdict(ClassSummary)
    counts: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for family in registry.collect():
        for sample in family.samples:
            name = sample.labels.get("traffic_class")
            if name is None:
                continue
            if sample.name == request_catalog.IN_FLIGHT.name:
                classes[name].in_flight = int(sample.value)
            elif sample.name == request_catalog.OLDEST_WAITING.name:
                classes[name].oldest_waiting_s = sample.value
            elif sample.name == request_catalog.FINISHED.name:
                outcomes = classes[name].outcomes
                outcome = sample.labels["outcome"]
                outcomes[outcome] = outcomes.get(outcome, 0) + int(sample.value)
            elif sample.name in _COUNTS:
                counts[name][_COUNTS[sample.name]] += sample.value
    for name, values in counts.items():
        classes[name].tally = Tally(values.get("drafts"), values.get("draft_tokens"), values.get("accepted_tokens"))
    return dict(sorted(classes.items()))
