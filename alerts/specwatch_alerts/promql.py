"""Parses PromQL with promql-parser; the one module that imports it (extra `rules`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import promql_parser

from specwatch_alerts.promql_tree import (
    Aggregate,
    Binary,
    Call,
    LabelMatcher,
    Node,
    Number,
    Selector,
    Subquery,
    Text,
)

_OPERATORS: Final = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}


class PromQLError(ValueError):
    """The expression is not PromQL; the message is the parser's, in one line."""


def parse(query: str) -> Node:
    """The expression as a tree; parentheses are gone, `-x` is `Call("-", x)`.

    Raises:
        PromQLError: it cannot be parsed.
    """
    try:
        parsed = promql_parser.parse(query)
    except ValueError as error:
        raise PromQLError(" ".join(str(error).split())) from error
    return _node(parsed)


def _node(found: Any) -> Node:
    return _MAKERS[type(found)](found)


def _selector(found: Any, seconds: float) -> Selector:
    matchers = [
        LabelMatcher(one.name, _OPERATORS[str(one.op).rpartition(".")[2]], one.value)
        for one in found.matchers.matchers
    ]
    name = found.name or next((one.value for one in matchers if one.label == "__name__"), "")
    return Selector(name, tuple(one for one in matchers if one.label != "__name__"), seconds)


def _aggregate(found: Any) -> Aggregate:
    modifier = found.modifier
    labels = None if modifier is None else tuple(modifier.labels)
    without = modifier is not None and modifier.type == promql_parser.AggModifierType.Without
    parameter = found.param.val if isinstance(found.param, promql_parser.NumberLiteral) else None
    return Aggregate(str(found.op).strip(), labels, without, _node(found.expr), parameter)


def _binary(found: Any) -> Binary:
    modifier = found.modifier
    matched = modifier is not None and modifier.matching is not None
    as_bool = modifier is not None and modifier.return_bool
    brought = () if modifier is None else tuple(modifier.group_labels or ())
    many = modifier is not None and modifier.card == promql_parser.VectorMatchCardinality.OneToMany
    return Binary(str(found.op).strip(), _node(found.lhs), _node(found.rhs), matched, as_bool, brought, many)


def _subquery(found: Any) -> Subquery:
    step = found.step.total_seconds() if found.step is not None else 0.0
    return Subquery(_node(found.expr), found.range.total_seconds(), step)


_MAKERS: Final[Mapping[type, Callable[[Any], Node]]] = {
    promql_parser.ParenExpr: lambda found: _node(found.expr),
    promql_parser.UnaryExpr: lambda found: Call("-", (_node(found.expr),)),
    promql_parser.NumberLiteral: lambda found: Number(float(found.val)),
    promql_parser.StringLiteral: lambda found: Text(str(found.val)),
    promql_parser.VectorSelector: lambda found: _selector(found, 0.0),
    promql_parser.MatrixSelector: lambda found: _selector(found.vector_selector, found.range.total_seconds()),
    promql_parser.SubqueryExpr: _subquery,
    promql_parser.Call: lambda found: Call(found.func.name, tuple(_node(one) for one in found.args)),
    promql_parser.AggregateExpr: _aggregate,
    promql_parser.BinaryExpr: _binary,
}
