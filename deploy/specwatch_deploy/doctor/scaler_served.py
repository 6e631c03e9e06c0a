"""External metrics that an HPA reads and no rule of prometheus-adapter serves."""

from __future__ import annotations

from collections.abc import Iterator

from specwatch_deploy.doctor.adapter_rules import adapter_rules
from specwatch_deploy.doctor.finding import Finding, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_trigger import rows_of


def served(inputs: Inputs) -> Iterator[Finding]:
    """Only where external rules are given, all of which have a name."""
    rules = [rule for document in inputs.documents for rule in adapter_rules(document) if rule.external]
    names = sorted({rule.name for rule in rules})
    if not names or "" in names:
        return
    for document in inputs.of_kind("HorizontalPodAutoscaler"):
        if rows_of(document, "metadata", "ownerReferences"):  # KEDA's own
            continue
        for number, row in rows_of(document, "spec", "metrics"):
            name = document.at("spec", "metrics", number, "external", "metric", "name")
            if row.get("type") == "External" and isinstance(name, str) and name not in names:
                part = f"HorizontalPodAutoscaler {document.name}"
                yield found(
                    "scaler-metric-not-served",
                    document.place("spec", "metrics", number, "external", "metric", "name", part=part),
                    f"no rule of prometheus-adapter serves the external metric {name}",
                    evidence=f"served are: {', '.join(names[:5])}",
                )
