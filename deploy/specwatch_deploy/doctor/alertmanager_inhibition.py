"""Inhibition rules that can never mute anything.

Source: Alertmanager 0.33 docs/configuration, "Inhibition-related settings": labels in `equal` must agree, and an
alert that matches both sides is not muted by one for which the same is true.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from specwatch_deploy.doctor.alertmanager_file import AlertMatcher, Inhibition, inhibitions, is_alertmanager
from specwatch_deploy.doctor.finding import Finding, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.rule_queries import rules_of
from specwatch_deploy.doctor.subject import about_serving


def dead_inhibitions(inputs: Inputs) -> Iterator[Finding]:
    """Every rule that mutes nothing, with the first reason for it."""
    alerts = _alerts(inputs)
    for document in inputs.documents:
        if not is_alertmanager(document):
            continue
        for rule in inhibitions(document):
            why = _by_itself(rule) or _by_names(rule, alerts)
            if why:
                number = rule.path[-1]
                place = document.place(*rule.path, part=f"inhibition rule {number}")
                yield found("alertmanager-dead-inhibition", place, f"the rule never mutes anything: {why}")


def inhibits_all(inputs: Inputs) -> Iterator[Finding]:
    """Rules without `equal`: one source anywhere mutes every target everywhere."""
    alerts = _alerts(inputs)
    for document in filter(is_alertmanager, inputs.documents):
        for rule in inhibitions(document):
            if not rule.equal and not _by_itself(rule) and not _by_names(rule, alerts) and not _of_others(rule):
                place = document.place(*rule.path, part=f"inhibition rule {rule.path[-1]}")
                muted = ", ".join(map(_said, rule.target)) or "every alert"
                said = f"the rule has no equal labels: one firing source mutes {muted} of all models and namespaces"
                yield found("alertmanager-inhibits-all", place, said, mended="equal: [namespace, model_name]")


def _of_others(rule: Inhibition) -> bool:
    """Whether both sides name alerts, and none of them is about serving: whoever wrote it knows its reach."""
    named = [[one.value for one in side if one.label == "alertname"] for side in (rule.source, rule.target)]
    return all(named) and not about_serving(" ".join(value for side in named for value in side))


def _by_itself(rule: Inhibition) -> str:
    for side, conditions in (("source", rule.source), ("target", rule.target)):
        clash = next((pair for pair in combinations(conditions, 2) if _contradict(*pair)), None)
        if clash is not None:
            return f"its {side} wants {_said(clash[0])} and {_said(clash[1])} of one alert"
    for label in rule.equal:
        here, there = _value(rule.source, label), _value(rule.target, label)
        if here is not None and there is not None and here != there:
            return f"{label} must be equal, and is {here!r} in the source and {there!r} in the target"
    if rule.source and sorted(rule.source) == sorted(rule.target):
        return "source and target are the same alerts, and an alert that is both is not muted"
    return ""


def _by_names(rule: Inhibition, alerts: Collection[str]) -> str:
    """A side names alerts of which none is in the rules that were given, and one is nearly called so.

    Without a near name nothing is said: the alert may stand in rules that were not given.
    """
    for side, conditions in (("source", rule.source), ("target", rule.target)):
        names = [name for one in conditions if one.label == "alertname" for name in _names(one)]
        if not names or any(name in alerts for name in names):
            continue
        for name in names:
            near = difflib.get_close_matches(name, alerts, n=1, cutoff=0.85)
            if near:
                return f"no rule has the alert {name} of its {side}; {near[0]} is probably meant"
    return ""


def _names(one: AlertMatcher) -> list[str]:
    """Names in a condition; none if it is a pattern."""
    if one.operator not in {"=", "=~"}:
        return []
    parts = one.value.split("|") if one.operator == "=~" else [one.value]
    return parts if all(part.isidentifier() for part in parts) else []


def _alerts(inputs: Inputs) -> frozenset[str]:
    return frozenset(
        str(rule["alert"]) for document in inputs.documents for _, rule in rules_of(document) if "alert" in rule
    )


def _contradict(one: AlertMatcher, other: AlertMatcher) -> bool:
    if one.label != other.label:
        return False
    if one.operator == "=":
        return not other.holds(one.value)
    return other.operator == "=" and not one.holds(other.value)


def _value(conditions: Sequence[AlertMatcher], label: str) -> str | None:
    return next((one.value for one in conditions if one.label == label and one.operator == "="), None)


def _said(one: AlertMatcher) -> str:
    return f'{one.label}{one.operator}"{one.value}"'
