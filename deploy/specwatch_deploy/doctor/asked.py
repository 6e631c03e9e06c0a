"""A query and what the parser makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from specwatch_alerts.promql import PromQLError, parse
from specwatch_alerts.promql_tree import Node, Selector, walk
from specwatch_deploy.doctor.finding import Finding, Severity, found
from specwatch_deploy.doctor.grafana_query import has_variable, readable
from specwatch_deploy.doctor.metric_name import owner_of
from specwatch_deploy.doctor.query import Query, Role
from specwatch_exporters.engine_metrics.metric_table import load_tables

_FOR: Final = re.compile(r"\s+for\s+\d+[smhd]\w*\s*$", re.IGNORECASE)
_DEEPEST: Final = 150
"""Nodes above one another; whoever needs more has it written by a program."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One query that can be parsed.

    Attributes:
        query: as it was found.
        tree: what it asks.
        steps: every node with the nodes above it, the outermost first.
    """

    query: Query
    tree: Node
    steps: tuple[tuple[Node, tuple[Node, ...]], ...]

    def selectors(self) -> Iterator[tuple[Selector, tuple[Node, ...]]]:
        """Every selector with the nodes above it."""
        return ((node, above) for node, above in self.steps if isinstance(node, Selector))

    def found(
        self, code: str, message: str, evidence: str = "", mended: str = "", severity: Severity | None = None
    ) -> Finding:
        """A finding on this query; a mended text that is the same or no PromQL is left out."""
        good = mended if mended.strip() != self.query.text.strip() and _parses(mended) else ""
        if self.query.role is Role.NAME:
            good = _as_named(self.query, good)
        return found(code, self.query.place, message, evidence=evidence, mended=good, severity=severity)


def _as_named(query: Query, series: str) -> str:
    """Another series as a scaler spells its name: with the prefix that the author's has; empty if it is no name."""
    old, new = owner_of(query.text), owner_of(series)
    if old is None or new is None:
        return ""
    before, after = (one.name.removeprefix(load_tables()[one.engine].prefix) for one in (old, new))
    return query.name.replace(before, after) if before in query.name and before != after else series


def asked(query: Query) -> Asked | Finding | None:
    """The parsed query, or what is wrong with it; None where a variable keeps it from being read."""
    problem = ""
    for text in readable(query.text):
        try:
            tree = parse(text)
        except PromQLError as error:
            problem = problem or str(error)
        except RecursionError:
            return _too_deep(query)
        else:
            return _walked(query, tree)
    if has_variable(query.text):
        return None
    hint = "; a template must be rendered first (helm template)" if "{{" in query.text else ""
    waits = _FOR.search(query.text)
    bare = query.text[: waits.start()] if waits is not None and _parses(query.text[: waits.start()]) else ""
    if bare:
        hint = "; `for` is a line of its own in the rule, beside expr"
    message = f"this is no PromQL: {problem[:160]}{hint}"
    return found("query-unreadable", query.place, message, evidence=query.text[:200], mended=bare)


def _walked(query: Query, tree: Node) -> Asked | Finding:
    try:
        steps = tuple(walk(tree))
    except RecursionError:
        return _too_deep(query)
    return _too_deep(query) if max(len(above) for _, above in steps) > _DEEPEST else Asked(query, tree, steps)


def _too_deep(query: Query) -> Finding:
    message = f"over {_DEEPEST} operations are nested in this query: it was not looked at"
    return found("query-unreadable", query.place, message, evidence=query.text[:200], severity=Severity.INFO)


def _parses(text: str) -> bool:
    if not text:
        return False
    for one in readable(text):
        try:
            parse(one)
        except (PromQLError, RecursionError):
            continue
        return True
    return False
