"""The lint: what promtool does not find in rules, and pint would."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from specwatch_alerts import lint_series, lint_shape
from specwatch_alerts.durations import seconds_of
from specwatch_alerts.finding import Finding
from specwatch_alerts.label_sets import label_set
from specwatch_alerts.lint_context import LintContext
from specwatch_alerts.promql import PromQLError, parse
from specwatch_alerts.promql_tree import Node

# Recorded by the scaler's rules.
EXPECTED: Final = frozenset(
    {
        "specwatch:scale_demand:replicas",
        "specwatch:scale_freed_by_cutting:replicas",
        "specwatch:scale_pods:count",
    }
)
_CHECKS: Final[Sequence[Callable[[Node, LintContext], Iterator[tuple[str, str]]]]] = (
    lint_series.kinds,
    lint_series.names,
    lint_series.labels,
    lint_series.windows,
    lint_shape.ratios,
    lint_shape.nan,
    lint_shape.absence,
    lint_shape.versions,
)
_ALERT_CHECKS: Final = (lint_shape.stability,)
_VALUE: Final = re.compile(r"\{\{[^}]*(\$value|\.Value)\b")
_TEMPLATE: Final = re.compile(r"\{\{")
_NEWER_GROUP_KEYS: Final = {"labels": "3.0", "query_offset": "2.53"}


class RuleFileError(ValueError):
    """The file holds no rule groups; the message is one line."""


def lint(document: Any, scrape_interval: str = "15s") -> list[Finding]:
    """All findings of a rule file or a PrometheusRule.

    Args:
        document: the parsed YAML.
        scrape_interval: of the series; `for` and windows are measured by it.

    Raises:
        RuleFileError: it holds no rule groups.
        ValueError: the interval is no duration.
    """
    groups = rule_groups(document)
    scrape = seconds_of(scrape_interval)
    context = LintContext(scrape, _recorded(groups, scrape), EXPECTED)
    return sorted({finding for group in groups for finding in _of_group(group, context)})


def rule_groups(document: Any) -> list[Mapping[str, Any]]:
    """The groups of a rule file or of a PrometheusRule.

    Raises:
        RuleFileError: there are none.
    """
    body = document.get("spec", document) if isinstance(document, dict) else {}
    groups = body.get("groups") if isinstance(body, dict) else None
    if not isinstance(groups, list) or not all(
        isinstance(one, dict) and isinstance(one.get("rules", []), list) for one in groups
    ):
        raise RuleFileError("it holds no rule groups: a rule file has `groups`, a PrometheusRule `spec.groups`")
    return groups


def _recorded(groups: Sequence[Mapping[str, Any]], scrape: float) -> dict[str, frozenset[str] | None]:
    """Labels of the recorded series, in the order of the file: a rule can read what stands above it."""
    found: dict[str, frozenset[str] | None] = {}
    rules = [rule for group in groups for rule in group.get("rules") or [] if "record" in rule]
    for _ in range(2):  # once more for what is read above the rule that records it
        for rule in rules:
            try:
                known = label_set(parse(str(rule["expr"])), LintContext(scrape, found)).possible
            except (PromQLError, KeyError):
                known = None
            found[str(rule["record"])] = None if known is None else known | set(rule.get("labels") or {})
    return found


def _of_group(group: Mapping[str, Any], context: LintContext) -> Iterator[Finding]:
    name = str(group.get("name", ""))
    for key, since in _NEWER_GROUP_KEYS.items():
        if key in group:
            yield Finding(name, "", "version", f"{key} of a group needs Prometheus {since}")
    for rule in group.get("rules") or []:
        title = str(rule.get("alert") or rule.get("record") or "")
        for code, message in _of_rule(rule, context):
            yield Finding(name, title, code, message)


def _of_rule(rule: Mapping[str, Any], context: LintContext) -> Iterator[tuple[str, str]]:
    alert = "alert" in rule
    try:
        tree = parse(str(rule.get("expr", "")))
    except PromQLError as error:
        yield "syntax", str(error)
        return
    for check in (*_CHECKS, *(_ALERT_CHECKS if alert else ())):
        yield from check(tree, context)
    if alert:
        yield from _of_alert(rule, context)


def _of_alert(rule: Mapping[str, Any], context: LintContext) -> Iterator[tuple[str, str]]:
    wait = str(rule.get("for", "0s"))
    try:
        if seconds_of(wait) < 2 * context.scrape_seconds:
            yield "short-for", f"for: {wait} is shorter than two scrapes, {2 * context.scrape_seconds:g}s"
    except ValueError as error:
        yield "syntax", f"for: {error}"
    for label, text in (rule.get("labels") or {}).items():
        if _VALUE.search(str(text)):
            yield "value-in-label", f"label {label} holds the value"
    summary = str((rule.get("annotations") or {}).get("summary", ""))
    if _TEMPLATE.search(summary):
        yield "value-in-summary", "the summary is a template; it belongs into the description"
