"""Builds Prometheus rule groups from the data files and the values: plain data, as a rule file holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from specwatch_alerts.definition import SEVERITIES, AlertDefinition, AlertRule, load_definitions
from specwatch_alerts.durations import seconds_of
from specwatch_alerts.origin import Origin
from specwatch_alerts.placeholders import fill, prose_texts, query_texts
from specwatch_alerts.recording import load_recordings
from specwatch_alerts.slo import PAGE, TICKET, burn_expression, check_edges, event_rules, objectives
from specwatch_alerts.values import Values, ValuesError

_SLO_WINDOWS: Final = "slo_windows"
# The dashboard's variables and the labels that fill them.
_VARIABLES: Final = ("namespace", "model", "pod")


def build(values: Values, origin: Origin, engine: str = "vllm") -> dict[str, Any]:
    """All rule groups.

    Args:
        values: the parameters.
        origin: whose series the rules read.
        engine: the engine behind the sidecar, `vllm` or `sglang`; only bucket edges depend on it.

    Returns:
        `{"groups": [{"name", "interval", "rules"}, ...]}`; every string is final.

    Raises:
        ValuesError: a threshold is no bucket edge, or a name to leave out does not exist.
        PlaceholderError: a data file uses an unknown placeholder.
    """
    check_names(values)
    groups = [*_recording_groups(values, origin, engine), *_alert_groups(values, origin)]
    interval = values.text("timing.evaluation_interval")
    return {"groups": [{"name": name, "interval": interval, "rules": rules} for name, rules in groups if rules]}


def check_names(values: Values) -> None:
    """Refuse names of alerts that do not exist, and severities that they cannot have.

    Raises:
        ValuesError: there is no such alert or severity, or the alert has several.
    """
    severities = {one.name: one.severities for one in load_definitions()}
    chosen = values.tables["alerts.severity"]
    for key, names in (("disabled", values.names("alerts.disabled")), ("severity", chosen)):
        unknown = set(names) - set(severities)
        if unknown:
            raise ValuesError(f"alerts.{key}: there is no alert {', '.join(sorted(unknown))}")
    for name, severity in chosen.items():
        if severity not in SEVERITIES:
            raise ValuesError(f"alerts.severity.{name} is {severity!r}; it must be one of {', '.join(SEVERITIES)}")
        if len(severities[name]) > 1:
            raise ValuesError(f"alerts.severity.{name}: it has rules of {' and '.join(severities[name])} already")


def _recording_groups(values: Values, origin: Origin, engine: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    texts = query_texts(values, origin)
    recordings = load_recordings()
    for name, rules in recordings.items():
        if name == _SLO_WINDOWS:
            continue
        found = [(rule.record, rule.expression(origin)) for rule in rules]
        yield (
            f"specwatch-{name}",
            [{"record": record, "expr": _query(expr, texts, record)} for record, expr in found if expr],
        )
    yield (
        "specwatch-slo",
        [
            *_objective_rules(values, origin, engine),
            *(
                {"record": rule.record, "expr": _query(rule.expression(origin) or "", texts, rule.record)}
                for rule in recordings[_SLO_WINDOWS]
            ),
        ],
    )


def _objective_rules(values: Values, origin: Origin, engine: str) -> Iterator[dict[str, Any]]:
    texts = query_texts(values, origin)
    for objective in objectives():
        if not objective.has(origin):
            continue
        check_edges(objective, values, origin, engine if origin is Origin.SIDECAR else origin.value)
        labels = {"slo": objective.name}
        budget = 1 - values.number(f"slo.{objective.name}.target")
        yield {"record": "specwatch:slo_budget:ratio", "expr": f"vector({budget:.6g})", "labels": labels}
        for record, expr in event_rules(objective, values, origin):
            yield {"record": record, "expr": _query(expr, texts, record), "labels": labels}


def _alert_groups(values: Values, origin: Origin) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    by_component: dict[str, list[dict[str, Any]]] = {}
    left_out = values.names("alerts.disabled")
    for definition in load_definitions():
        if definition.name not in left_out:
            by_component.setdefault(definition.component, []).extend(_alert_rules(definition, values, origin))
    for component, rules in sorted(by_component.items()):
        yield f"specwatch-alerts-{component}", rules


def _alert_rules(definition: AlertDefinition, values: Values, origin: Origin) -> Iterator[dict[str, Any]]:
    for rule in definition.rules:
        expr = _alert_expression(definition, rule, values, origin)
        if expr is None:
            continue
        severity = values.tables["alerts.severity"].get(definition.name, rule.severity)
        yield {
            "alert": definition.name,
            "expr": _query(expr, query_texts(values, origin), definition.name),
            "for": _wait(definition, rule, values),
            "keep_firing_for": rule.keep,
            "labels": {
                **values.tables["labels"],
                "severity": values.text(f"severities.{severity}"),
                "component": definition.component,
                **rule.labels,
            },
            "annotations": {**_annotations(definition, rule, values), "urgency": severity},
        }


def _wait(definition: AlertDefinition, rule: AlertRule, values: Values) -> str:
    """`for` of a rule, two scrapes at least."""
    wait = fill(rule.wait, prose_texts(values), definition.name)
    least = 2 * values.seconds("timing.scrape_interval")
    return wait if seconds_of(wait) >= least else f"{least:.0f}s"


def _alert_expression(definition: AlertDefinition, rule: AlertRule, values: Values, origin: Origin) -> str | None:
    if definition.slo is None:
        return rule.expression(origin)
    objective = next(one for one in objectives() if one.name == definition.slo)
    if not objective.has(origin):
        return None
    return burn_expression(objective, values, PAGE if rule.severity == "page" else TICKET)


def _annotations(definition: AlertDefinition, rule: AlertRule, values: Values) -> dict[str, str]:
    texts = prose_texts(values)
    described = fill(fill(rule.description, texts, definition.name), texts, definition.name)
    return {
        "summary": definition.summary,
        "description": f"{described} {definition.impact}",
        "impact": definition.impact,
        "runbook_url": f"{values.text('links.runbook').rstrip('/')}/{definition.name}.md",
        "dashboard_url": dashboard_url(definition, values),
    }


def dashboard_url(definition: AlertDefinition, values: Values) -> str:
    """Link to the dashboard with its variables set from the alert's labels, as a template of Prometheus.

    The time is relative: an annotation that changes at every evaluation would be a change for Alertmanager.
    """
    variables = "".join(
        f"{{{{ with $labels.{name} }}}}&var-{name}={{{{ . | urlquery }}}}{{{{ end }}}}" for name in _VARIABLES
    )
    base = values.text("links.dashboard").rstrip("/")
    return f"{base}/d/specwatch-{definition.dashboard}?from=now-{definition.since}&to=now{variables}"


def _query(expr: str, texts: dict[str, str], where: str) -> str:
    """The final expression, without the commas and braces that an empty scope leaves."""
    filled = fill(expr, texts, where)
    return re.sub(r"(?<=[\w:])\{\}", "", re.sub(r",\s*\}", "}", filled)).strip()
