"""One YAML document or JSON file, with the lines of its parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from specwatch_deploy.doctor.finding import Place

Key = str | int


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """What a file, a part of it, or an API holds.

    Attributes:
        file: where it comes from, as it was given.
        body: plain data.
        node: the YAML node of the body; None for JSON and for what comes from an API.
        text: the JSON text, to find lines in; empty otherwise.
        before: lines of the file before this document's own first line.
        part: the object that holds it, such as `ConfigMap ns/name, key rules.yml`; empty for a file of its own.
    """

    file: str
    body: Any
    node: yaml.Node | None = None
    text: str = ""
    before: int = 0
    part: str = ""

    @property
    def kind(self) -> str:
        """Kubernetes kind; empty for anything else."""
        known = isinstance(self.body, Mapping) and "apiVersion" in self.body
        return str(self.body.get("kind", "")) if known else ""

    @property
    def name(self) -> str:
        """`namespace/name` of an object, `name` without a namespace."""
        meta = self.body.get("metadata") if isinstance(self.body, Mapping) else None
        if not isinstance(meta, Mapping):
            return ""
        space, name = meta.get("namespace"), str(meta.get("name", ""))
        return f"{space}/{name}" if space else name

    def at(self, *path: Key) -> Any:
        """The value at a path, or None."""
        value = self.body
        for key in path:
            inside = isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value)
            if not inside and not (isinstance(value, Mapping) and key in value):
                return None
            found: Any = value
            value = found[key]
        return value

    def line(self, *path: Key) -> int:
        """Line of the value at a path, or of the nearest one above it that is known; 0 if none is."""
        if self.node is not None:
            return self.before + _node_line(self.node, path)
        value = self.at(*path)
        if not self.text or not isinstance(value, str):
            return 0
        at = self.text.find(json.dumps(value))
        at = self.text.find(json.dumps(value, ensure_ascii=False)) if at < 0 else at
        return 0 if at < 0 else self.before + self.text.count("\n", 0, at) + 1

    def place(self, *path: Key, part: str = "") -> Place:
        """The place of a value."""
        return Place(self.file, self.line(*path), ", ".join(one for one in (self.part, part) if one))


def _node_line(node: yaml.Node, path: tuple[Key, ...]) -> int:
    line = node.start_mark.line + 1
    for key in path:
        below = _below(node, key)
        if below is None:
            break
        node = below
        line = node.start_mark.line + 1
    return line


def node_at(node: yaml.Node | None, path: tuple[Key, ...]) -> yaml.Node | None:
    """The YAML node at a path; None if there is none."""
    for key in path:
        node = None if node is None else _below(node, key)
    return node


def _below(node: yaml.Node, key: Key) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for name, value in node.value if name.value == str(key)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and 0 <= key < len(node.value):
        found: yaml.Node = node.value[key]
        return found
    return None
