"""Names in an HPA that are an engine's gauge spelt without its colon, where no rule of an adapter was given.

An adapter calls `vllm:x` what its rule says, `vllm_x` more often than not: such a name is right as long as the
series behind it exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from specwatch_deploy.doctor.adapter_rules import adapter_rules
from specwatch_deploy.doctor.asked import Asked, asked
from specwatch_deploy.doctor.check_metrics import metrics
from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.engine import SPELLINGS
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.metric_name import owner_of, series_named
from specwatch_deploy.doctor.query import Query, Role
from specwatch_deploy.doctor.query_checks import knowledge
from specwatch_deploy.doctor.scaler_trigger import rows_of
from specwatch_exporters.engine_metrics.metric_table import load_tables
from specwatch_exporters.metric import Kind


def adapted_names(inputs: Inputs) -> Iterator[Finding]:
    """Names of gauges that are gone or renamed; those that a given rule serves are left to that rule."""
    served = {rule.name for document in inputs.documents for rule in adapter_rules(document)}
    known = knowledge(inputs, [])
    for document in inputs.of_kind("HorizontalPodAutoscaler"):
        for query in _names(document):
            one = asked(query)
            if query.name not in served and isinstance(one, Asked):
                for finding in metrics(one, known):
                    yield replace(
                        finding,
                        severity=Severity.WARNING,
                        evidence=f"{finding.evidence}; a rule of an adapter may serve another series by this name",
                    )


def _names(document: Document) -> Iterator[Query]:
    for number, row in rows_of(document, "spec", "metrics"):
        for key in ("pods", "external", "object"):
            at = ("spec", "metrics", number, key, "metric", "name")
            name = document.at(*at)
            series = _gauge(name) if isinstance(name, str) and row.get("type") == key.capitalize() else ""
            if series:
                part = f"HorizontalPodAutoscaler {document.name}, metric {name}"
                yield Query(series, Role.NAME, document.place(*at, part=part), part, name=str(name))


def _gauge(name: str) -> str:
    """The gauge that is meant by a name without a colon; empty if it is none."""
    if ":" in name:
        return ""
    owner = owner_of(series_named(name, exact=False))
    if owner is None or owner.engine not in SPELLINGS:
        return ""
    rows = load_tables()[owner.engine].rows.get(owner.name)
    return owner.name if rows and rows[-1].kind is Kind.GAUGE else ""
