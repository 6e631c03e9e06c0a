"""A PromQL expression as a small tree of our own: what the lint and the backtest look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelMatcher:
    """One matcher of a selector.

    Attributes:
        label: label name.
        operator: `=`, `!=`, `=~` or `!~`.
        value: text or regular expression.
    """

    label: str
    operator: str
    value: str


@dataclass(frozen=True, slots=True)
class Selector:
    """Series by name and labels.

    Attributes:
        name: metric name; empty if only labels select.
        matchers: matchers beside the name.
        seconds: length of the range, 0 for an instant selector.
    """

    name: str
    matchers: tuple[LabelMatcher, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregation.

    Attributes:
        operator: `sum`, `max`, `topk`, ...
        labels: the labels after `by` or `without`; None if neither is given.
        without: True for `without`.
        argument: what is aggregated.
        parameter: the number in front of it: k of `topk`, the share of `quantile`; None if there is none.
    """

    operator: str
    labels: tuple[str, ...] | None
    without: bool
    argument: Node
    parameter: float | None = None


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands.

    Attributes:
        operator: `/`, `>`, `and`, ...
        left: left operand.
        right: right operand.
        matched: True if `on` or `ignoring` says which labels must agree.
        as_bool: True with the modifier `bool`.
        brought: labels that `group_left` or `group_right` takes over from the other side.
        right_many: True with `group_right`: the result has the series of the right side.
    """

    operator: str
    left: Node
    right: Node
    matched: bool = False
    as_bool: bool = False
    brought: tuple[str, ...] = ()
    right_many: bool = False


@dataclass(frozen=True, slots=True)
class Subquery:
    """An expression over a range.

    Attributes:
        argument: the expression.
        seconds: length of the range.
        step: seconds between its points; 0 for the evaluation interval.
    """

    argument: Node
    seconds: float
    step: float


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    value: str


Node = Selector | Call | Aggregate | Binary | Subquery | Number | Text


def children(node: Node) -> tuple[Node, ...]:
    """The operands of a node."""
    match node:
        case Call():
            return node.arguments
        case Aggregate() | Subquery():
            return (node.argument,)
        case Binary():
            return (node.left, node.right)
        case _:
            return ()


def walk(node: Node, above: tuple[Node, ...] = ()) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Every node below and including this one, with the nodes above it, the outermost first."""
    yield node, above
    for child in children(node):
        yield from walk(child, (*above, node))


def selectors(node: Node) -> Iterator[Selector]:
    """Every selector of an expression."""
    return (one for one, _ in walk(node) if isinstance(one, Selector))
