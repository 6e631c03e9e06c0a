"""What a rule's expression reads, and the expression with recording rules put in where they are named.

Recording rules that were not there in the past left no series. Their expression stands in for them: in brackets
for a plain selector, as a subquery of the recording's own spacing for a range. Label matchers of the selector go
down to the selectors below, where the labels come from. Where they cannot, because a function makes the label on
the way, the result is filtered: PromQL has no filter on a result's labels, but a mark that `label_replace` sets
can be joined.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_alerts.backtest_rules import RecordingRule
from specwatch_alerts.durations import seconds_of
from specwatch_alerts.promql import PromQLError, parse
from specwatch_alerts.promql_tree import Aggregate, Call, LabelMatcher, Node, Text, selectors, walk

_TOKEN: Final = re.compile(
    r""" "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | `[^`]*` | \#[^\n]* | [A-Za-z_:][A-Za-z0-9_:]* """, re.VERBOSE
)
_TAIL: Final = re.compile(
    r"""
    (?P<braces> \s* \{ (?: [^{}"'`] | "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | `[^`]*` )* \} )?
    (?P<range> \s* \[ [^\]:]+ \] )?
    (?P<offset> \s* \b offset \s+ -? [0-9a-z]+ )?
    (?P<at> \s* @ )?
    """,
    re.VERBOSE,
)
_MARK: Final = "specwatch_kept"
_MAKES_LABELS: Final = frozenset({"label_replace", "label_join"})
_DROPS_LABELS: Final = frozenset({"scalar", "vector", "absent", "absent_over_time"})


class ExpressionError(ValueError):
    """The expression cannot be used; the message says why, in one line."""


def asks_absence(expression: str) -> bool:
    """Whether it says something of series that are not there; what cannot be parsed says nothing."""
    try:
        tree = parse(expression)
    except PromQLError:
        return False
    return any(isinstance(one, Call) and one.function.startswith("absent") for one, _ in walk(tree))


@dataclass(frozen=True, slots=True)
class _Tail:
    """What follows a selector's name, as it is written."""

    braces: str
    range: str
    offset: str
    end: int


Rules = Mapping[str, Sequence[RecordingRule]]
Matchers = tuple[LabelMatcher, ...]


def metrics_of(expression: str) -> frozenset[str]:
    """Names of the series that an expression selects.

    Raises:
        ExpressionError: it cannot be parsed.
    """
    return frozenset(one.name for one in selectors(_parsed(expression)) if one.name)


def expanded(expression: str, recordings: Sequence[RecordingRule]) -> str:
    """The expression with every recording rule of the list put in, and those that these read.

    Raises:
        ExpressionError: it cannot be parsed, or a recording rule is selected in a way that cannot be put in.
    """
    by_name: dict[str, list[RecordingRule]] = {}
    for rule in recordings:
        by_name.setdefault(rule.name, []).append(rule)
    text = _put_in(expression, by_name, (), ())
    _parsed(text)
    return text


def _parsed(expression: str) -> Node:
    try:
        return parse(expression)
    except PromQLError as error:
        raise ExpressionError(f"it cannot be parsed: {str(error)[:120]}") from error


def _put_in(text: str, rules: Rules, matchers: Matchers, within: tuple[str, ...]) -> str:
    """The text with recording rules put in, and matchers added to all selectors."""
    selected = metrics_of(text)
    parts: list[str] = []
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        name = token.group()
        parts.append(text[at : token.start()])
        at = token.end()
        if name not in selected:
            parts.append(name)
        elif ":" in name and name in rules:
            tail = _tail(name, text, at)
            parts.append(_stand_in(name, tail, rules, matchers, within))
            at = tail.end
        elif matchers:
            tail = _tail(name, text, at)
            parts.append(f"{name}{_braces((*_matchers(tail.braces), *matchers))}{tail.range}{tail.offset}")
            at = tail.end
        else:
            parts.append(name)
    return "".join([*parts, text[at:]])


def _tail(name: str, text: str, at: int) -> _Tail:
    found = _TAIL.match(text, at)
    if found is None or found["at"]:
        raise ExpressionError(f"{name} is read with @, or in another way that no recording rule can stand in for")
    return _Tail(found["braces"] or "", found["range"] or "", found["offset"] or "", found.end())


def _stand_in(name: str, tail: _Tail, rules: Rules, matchers: Matchers, within: tuple[str, ...]) -> str:
    if name in within:
        raise ExpressionError(f"recording rule {name} reads itself")
    chosen = []
    for rule in rules[name]:
        own = _labels_left(rule, (*_matchers(tail.braces), *matchers))
        if own is not None:
            down = tuple(one for one in own if _goes_down(rule.expression, one.label))
            inner = _put_in(rule.expression, rules, down, (*within, name))
            for matcher in (one for one in own if one not in down):
                inner = _filtered(inner, matcher)
            chosen.append(_labelled(rule, inner))
    if not chosen:
        raise ExpressionError(f"no recording rule {name}{tail.braces}")
    whole, spacing = " or ".join(chosen), rules[name][0].interval
    if tail.range:
        return f"({whole})[{tail.range.strip()[1:-1]}:{spacing}]{tail.offset}"
    if tail.offset:
        span = f"{2 * math.ceil(seconds_of(spacing))}s"
        return f"last_over_time(({whole})[{span}:{spacing}]{tail.offset})"
    return f"({whole})"


def _labels_left(rule: RecordingRule, matchers: Matchers) -> Matchers | None:
    """Matchers that the rule's own labels do not settle, or None if they rule it out."""
    settled = [one for one in matchers if one.label in rule.labels]
    if not all(_takes(one, rule.labels[one.label]) for one in settled):
        return None
    return tuple(one for one in matchers if one.label not in rule.labels)


def _takes(matcher: LabelMatcher, value: str) -> bool:
    """Whether a matcher takes a value."""
    if matcher.operator in {"=", "!="}:
        return (matcher.value == value) == (matcher.operator == "=")
    return (re.fullmatch(matcher.value, value) is not None) == (matcher.operator == "=~")


def _filtered(expression: str, matcher: LabelMatcher) -> str:
    """The expression without the label sets that a matcher does not take."""
    pattern = json.dumps(re.escape(matcher.value) if matcher.operator in {"=", "!="} else matcher.value)
    joined = "and" if matcher.operator in {"=", "=~"} else "unless"
    marked = f'label_replace(({expression}), "{_MARK}", "1", "{matcher.label}", {pattern})'
    mark = f'label_replace(vector(1), "{_MARK}", "1", "", "")'
    return f'label_replace(({marked} {joined} on ({_MARK}) {mark}), "{_MARK}", "", "", "")'


def _goes_down(expression: str, label: str) -> bool:
    """Whether the label of the result is that of the series below, whatever is between."""
    return all(_keeps(node, label) for node, _ in walk(_parsed(expression)))


def _keeps(node: Node, label: str) -> bool:
    if isinstance(node, Aggregate):
        return node.labels is not None and (label in node.labels) != node.without
    if isinstance(node, Call) and node.function in _MAKES_LABELS:
        return not (isinstance(node.arguments[1], Text) and node.arguments[1].value == label)
    return not (isinstance(node, Call) and node.function in _DROPS_LABELS)


def _matchers(braces: str) -> Matchers:
    return next(selectors(_parsed(f"x{braces}"))).matchers


def _braces(matchers: Matchers) -> str:
    return f"{{{','.join(f'{one.label}{one.operator}{json.dumps(one.value)}' for one in matchers)}}}"


def _labelled(rule: RecordingRule, expression: str) -> str:
    for label, value in rule.labels.items():
        text = json.dumps(value.replace("$", "$$"))
        expression = f'label_replace(({expression}), "{label}", {text}, "", "")'
    return expression if rule.labels else f"({expression})"
