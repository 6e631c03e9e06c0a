"""The expressions of rule files and of PrometheusRule objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specwatch_alerts.durations import seconds_of
from specwatch_deploy.doctor.document import Document, Key
from specwatch_deploy.doctor.query import Query, Role


def rule_queries(document: Document) -> Iterator[Query]:
    """Expressions of all rules; none if the document has no groups of rules."""
    for path, rule in rules_of(document):
        name = str(rule.get("alert") or rule.get("record") or "")
        alert = "alert" in rule
        place = document.place(*path, "expr", part=f"{'alert' if alert else 'record'} {name}")
        notes = rule.get("annotations")
        texts = [str(text) for text in notes.values()] if isinstance(notes, Mapping) else []
        yield Query(
            str(rule.get("expr", "")).strip(),
            Role.ALERT if alert else Role.RECORDING,
            place,
            " ".join([name, *texts]),
            _wait(rule) if alert else None,
            name,
        )


def rules_of(document: Document) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any]]]:
    """Every rule with its path: of a rule object, and anywhere in a text that is no object (an excerpt, values)."""
    base: tuple[Key, ...] = ("spec", "groups") if document.kind else ()
    yield from _below(document.at(*base), base)


def _below(value: Any, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any]]]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _below(one, (*path, number))
    elif isinstance(value, Mapping):
        if isinstance(value.get("alert", value.get("record")), str) and ("expr" in value or "rules" in path):
            yield path, value
            return
        for key, one in value.items():
            yield from _below(one, (*path, key))


def _wait(rule: Mapping[str, Any]) -> float | None:
    if "for" not in rule:
        return None
    try:
        return seconds_of(str(rule["for"]))
    except ValueError:
        return None
