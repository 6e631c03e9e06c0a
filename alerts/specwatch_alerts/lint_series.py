"""Checks of the lint on selectors: kind of metric, labels, windows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from specwatch_alerts.label_sets import label_set
from specwatch_alerts.label_values import CLOSED
from specwatch_alerts.lint_context import LintContext
from specwatch_alerts.promql_tree import (
    Aggregate,
    Binary,
    Call,
    LabelMatcher,
    Node,
    Selector,
    Subquery,
    selectors,
    walk,
)

RATES: Final = frozenset({"rate", "irate", "increase"})
# Functions to which a counter's own value means something, or which only ask whether it is there.
FOR_COUNTERS: Final = RATES | {
    "resets",
    "changes",
    "absent",
    "absent_over_time",
    "present_over_time",
    "count_over_time",
    "timestamp",
}
_ASKS_PRESENCE: Final = frozenset({"count", "group"})
_SCRAPES: Final = 4
_WORDS: Final = re.compile(r"\w+(\|\w+)*")

Said = tuple[str, str]


def kinds(tree: Node, context: LintContext) -> Iterator[Said]:
    """A rate of a gauge, or a counter without one."""
    for node, above in walk(tree):
        if not isinstance(node, Selector):
            continue
        functions = [one.function for one in above if isinstance(one, Call)]
        counter = context.is_counter(node.name)
        if counter is False and RATES.intersection(functions[-1:]):
            yield "rate-on-gauge", f"{functions[-1]}() of {node.name}, which is a gauge"
        if counter and not FOR_COUNTERS.intersection(functions) and not only_presence(node, above):
            yield "counter-without-rate", f"{node.name} is a counter and has no rate or increase"


def only_presence(node: Node, above: tuple[Node, ...]) -> bool:
    """Whether the value of a series does not matter: counted, or on the right side of `and` and `unless`."""
    below = node
    for one in reversed(above):
        if isinstance(one, Aggregate) and one.operator in _ASKS_PRESENCE:
            return True
        if isinstance(one, Binary) and one.operator in {"and", "unless"} and below is one.right:
            return True
        if isinstance(one, Binary) and one.operator not in {"and", "or", "unless"}:
            return False
        below = one
    return False


def names(tree: Node, context: LintContext) -> Iterator[Said]:
    """Series of ours that do not exist."""
    for one in selectors(tree):
        ours = one.name.startswith(("specwatch_", "specwatch:"))
        known = context.facts(one.name) is not None or one.name in context.recorded or one.name in context.expected
        if ours and not known:
            yield "unknown-metric", f"{one.name} does not exist"


def labels(tree: Node, context: LintContext) -> Iterator[Said]:
    """Labels or values of them that the selected series cannot have, in matchers and in `by`."""
    for node, _ in walk(tree):
        if isinstance(node, Selector):
            known = context.labels(node.name)
            for matcher in node.matchers:
                if known is not None and matcher.label not in known and not matches_empty(matcher):
                    yield "impossible-label", f"{node.name} has no label {matcher.label}"
                elif matcher.label == "le":
                    yield from _edge(node, matcher, context)
                else:
                    yield from _value(node, matcher)
        elif isinstance(node, Aggregate) and node.labels and not node.without:
            below = label_set(node.argument, context).possible
            for label in node.labels:
                if below is not None and label not in below:
                    yield "impossible-label", f"by ({label}): no series below has the label {label}"


def windows(tree: Node, context: LintContext) -> Iterator[Said]:
    """Ranges that hold too few samples; ranges are open on the left since Prometheus 3."""
    for node, _ in walk(tree):
        if isinstance(node, Selector) and 0 < node.seconds < _SCRAPES * context.scrape_seconds:
            least = _SCRAPES * context.scrape_seconds
            yield "short-window", f"{node.name}[{node.seconds:g}s] is shorter than four scrapes, {least:g}s"
        if isinstance(node, Subquery) and node.step and node.seconds < _SCRAPES * node.step:
            yield "short-window", f"a subquery of {node.seconds:g}s in steps of {node.step:g}s has less than four"


def matches_empty(matcher: LabelMatcher) -> bool:
    """Whether series without the label are selected as well."""
    match matcher.operator:
        case "=":
            return matcher.value == ""
        case "!=":
            return matcher.value != ""
        case "=~":
            return re.fullmatch(matcher.value, "") is not None
        case _:
            return re.fullmatch(matcher.value, "") is None


def _value(node: Selector, matcher: LabelMatcher) -> Iterator[Said]:
    known = CLOSED.get((node.name, matcher.label))
    if known is None or matcher.operator not in {"=", "=~"} or matches_empty(matcher):
        return
    if matcher.operator == "=":
        strange = {matcher.value} - known
    elif _WORDS.fullmatch(matcher.value):
        strange = set(matcher.value.split("|")) - known
    else:
        strange = set() if any(re.fullmatch(matcher.value, one) for one in known) else {matcher.value}
    for value in sorted(strange):
        there = ", ".join(sorted(known))
        yield "impossible-label", f"{matcher.label} of {node.name} is never {value}; it is one of {there}"


def _edge(node: Selector, matcher: LabelMatcher, context: LintContext) -> Iterator[Said]:
    known = context.edges(node.name)
    if matcher.operator == "=" and re.fullmatch(r"\d+(\.0)?", matcher.value):
        whole = matcher.value.partition(".")[0]
        yield "version", f'le="{matcher.value}" is spelled 1 or 1.0 by version: write le=~"{whole}(\\\\.0)?"'
    if known is None or matcher.operator not in {"=", "=~"}:
        return
    spelled = {text for edge in known for text in (f"{edge:g}", repr(edge))} | {"+Inf"}
    fits = (
        matcher.value in spelled
        if matcher.operator == "="
        else any(re.fullmatch(matcher.value, one) for one in spelled)
    )
    if not fits:
        yield "impossible-label", f"{node.name} has no bucket with the edge {matcher.value}"
