"""Series that the engines do not have: renamed, removed, too new, misspelt, hidden, or never there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_alerts.lint_series import RATES
from specwatch_alerts.metric_facts import facts_of
from specwatch_alerts.promql_tree import Binary, Call, Node, Selector, selectors
from specwatch_deploy.doctor.absence import Absence, absence
from specwatch_deploy.doctor.asked import Asked
from specwatch_deploy.doctor.engine import Engine
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.knowledge import Knowledge
from specwatch_deploy.doctor.mend import renamed, with_buckets
from specwatch_deploy.doctor.metric_name import owner_of

_NAME: Final = re.compile(r"[A-Za-z_:][\w:]*")
_FRONTEND: Final = "dynamo"
_OURS: Final = ("specwatch_", "specwatch:")

Lost = list[tuple[Engine, Absence]]
"""Engines that do not have a series, with why."""


def metrics(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Names that nothing exports, once each."""
    for name in dict.fromkeys(node.name for node, _ in asked.selectors()):
        lost = lost_on(name, known)
        if lost:
            places = [(node, above) for node, above in asked.selectors() if node.name == name]
            if not all(_replaceable(above, node, lost, known) for node, above in places):
                yield _finding(asked, name, lost, known)
        elif name.startswith(_OURS) and _nobody_has(name, known):
            yield asked.found(
                "metric-unknown", f"specwatch exports no {name}, and no rule that was given records it"
            )


def on_workers(asked: Asked, known: Knowledge) -> Iterator[Finding]:
    """Series of an engine where only Dynamo's frontend was looked at: its workers have them.

    Source: ai-dynamo 1.6.1: engines' series pass through on the worker's system port, never on the frontend.
    """
    if set(known.engines) != {_FRONTEND} or all(engine.page is None for engine in known.engines[_FRONTEND]):
        return
    owners = [(node.name, owner_of(node.name)) for node, _ in asked.selectors()]
    if any(owner is not None and owner.engine == _FRONTEND for _, owner in owners):
        return
    for name, owner in owners:
        if owner is not None and name not in known.recorded and name not in known.present:
            what = "speculation counters" if "spec_" in name else "an engine's own series"
            message = f"{name} is not on the page of Dynamo's frontend: {what} live on the workers"
            evidence = "scrape the worker's system port (DYN_SYSTEM_PORT), and give that page too (--engine)"
            yield asked.found("metric-on-worker", message, evidence)
            return


def lost_on(name: str, known: Knowledge) -> Lost:
    """Engines that are watched and do not have a series, with why; empty for what is recorded or in Prometheus."""
    owner = owner_of(name) if _NAME.fullmatch(name) else None
    if owner is None or name in known.recorded or name in known.present:
        return []
    told = ((engine, absence(owner, name, engine)) for engine in known.of(owner.engine))
    return [(engine, why) for engine, why in told if why is not None]


def _nobody_has(name: str, known: Knowledge) -> bool:
    there = name in known.recorded or name in known.present or name in known.expected
    return not there and facts_of(name) is None


def _replaceable(above: Sequence[Node], node: Selector, lost: Lost, known: Knowledge) -> bool:
    """Whether the other side of an `or` is there on all engines that do not have this series."""
    without = [engine for engine, _ in lost]
    below: Node = node
    for one in reversed(above):
        if isinstance(one, Binary) and one.operator == "or":
            other = one.right if below is one.left else one.left
            names = {selector.name for selector in selectors(other)}
            if names and not any(engine in without for name in names for engine, _ in lost_on(name, known)):
                return True
        below = one
    return False


def with_new_names(asked: Asked, known: Knowledge, text: str) -> str:
    """A text with every series of another name now: one that is half mended still has no data."""
    for name in dict.fromkeys(node.name for node, _ in asked.selectors()):
        lost = lost_on(name, known)
        if lost and lost[0][1].name:
            text = renamed(text, name, lost[0][1].name)
    return text


def _finding(asked: Asked, name: str, lost: Lost, known: Knowledge) -> Finding:
    engine, why = lost[0]
    watched = known.of(engine.name)
    mended = with_new_names(asked, known, asked.query.text) if why.name else ""
    if why.code == "histogram-whole":
        mended = with_buckets(asked.query.text, name)
    if _rate_of_gauge(asked, name, why.name, known):
        mended = ""
    if why.expression:
        mended = _put_in(asked, name, why.expression)
    if len(lost) < len(watched):
        there = next(one for one in watched if all(one is not other for other, _ in lost))
        message = f"{why.message}; {there.title} has it"
        both = f"{asked.query.text} or {mended}" if mended else ""
        return asked.found("metric-not-everywhere", message, why.evidence, both)
    also = f"; so say all {len(lost)} that are watched" if len(lost) > 1 else ""
    return asked.found(why.code, why.message, f"{why.evidence}{also}".removeprefix("; "), mended)


def _rate_of_gauge(asked: Asked, name: str, new: str, known: Knowledge) -> bool:
    """Whether the right spelling is a gauge's, of which the query would take a rate: that is another fault."""
    rated = any(
        node.name == name and any(isinstance(one, Call) and one.function in RATES for one in above)
        for node, above in asked.selectors()
    )
    return rated and bool(new) and known.is_counter(new) is False


def _put_in(asked: Asked, name: str, expression: str) -> str:
    """The query with an expression for a plain selector; the expression alone if the query is not that simple."""
    plain = isinstance(asked.tree, Selector) and not asked.tree.matchers
    simple = plain or not any(isinstance(one, Call) for one, _ in asked.steps)
    if not simple or any(node.matchers for node, _ in asked.selectors()):
        return expression
    return renamed(asked.query.text, name, expression if plain else f"({expression})")
