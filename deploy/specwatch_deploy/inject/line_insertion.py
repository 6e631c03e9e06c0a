"""Where lines go so that nothing else in a manifest moves: comments, quotes, order and blanks stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from specwatch_deploy.inject.inject_error import InjectError
from specwatch_deploy.inject.marked_lines import marked


@dataclass(frozen=True, slots=True)
class Insertion:
    """Lines to add.

    Attributes:
        before: number of the line that they come before, from 0.
        indent: blanks before each.
        lines: without them.
    """

    before: int
    indent: int
    lines: list[str]


def list_insertion(
    spec: yaml.MappingNode, key: str, items: Sequence[dict[str, Any]], text: Sequence[str]
) -> Insertion:
    """Puts items first into the list under a key of a pod's spec, or makes the list before `containers`.

    Raises:
        InjectError: the place is written in braces.
    """
    if spec.flow_style:
        raise InjectError("the pod's spec is written in braces; write it in lines, so that lines can be added")
    for name, value in spec.value:
        if name.value == key:
            return _into(name, value, key, items)
    (containers,) = [name for name, _ in spec.value if name.value == "containers"]
    column = containers.start_mark.column
    before = containers.start_mark.line
    while before > 0 and text[before - 1].startswith(f"{' ' * column}#"):
        before -= 1
    return Insertion(before, column, [f"{key}:", *_lines(items)])


def _into(name: yaml.Node, value: yaml.Node, key: str, items: Sequence[dict[str, Any]]) -> Insertion:
    in_lines = isinstance(value, yaml.SequenceNode) and not value.flow_style and bool(value.value)
    if not in_lines or value.start_mark.line == name.start_mark.line:
        raise InjectError(f"{key} is empty or written in brackets; write it as a list in lines, or remove it")
    return Insertion(name.start_mark.line + 1, value.start_mark.column, _lines(items))


def _lines(items: Sequence[dict[str, Any]]) -> list[str]:
    text: str = yaml.safe_dump(list(items), sort_keys=False, default_flow_style=None, width=1_000)
    return text.splitlines()


def with_insertions(text: str, insertions: Sequence[Insertion]) -> str:
    """The text with all lines added."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    for one in sorted(insertions, key=lambda one: one.before, reverse=True):
        lines.insert(one.before, marked(one.lines, one.indent, newline))
    return "".join(lines)
