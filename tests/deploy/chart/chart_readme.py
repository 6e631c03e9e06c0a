"""The chart's README, made from values.yaml: each key with its comment above it and its default."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

HEAD = Path(__file__).parent / "readme_head.md"


def readme(chart: Path) -> str:
    """The whole page."""
    text = (chart / "values.yaml").read_text()
    rows = ["| key | default | what it does |", "|---|---|---|"]
    rows += [f"| `{key}` | {_default(value)} | {note} |" for key, value, note in entries(text)]
    return HEAD.read_text() + "\n".join(rows) + "\n"


def entries(text: str) -> Iterator[tuple[str, object, str]]:
    """Key with dots, default and comment of every value that has a comment."""
    lines = text.splitlines()
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if isinstance(root, yaml.MappingNode):
        yield from _below(root, "", lines)


def _below(node: yaml.MappingNode, prefix: str, lines: list[str]) -> Iterator[tuple[str, object, str]]:
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        note = _note(lines, key.start_mark.line)
        is_table = isinstance(value, yaml.MappingNode) and bool(value.value) and not value.flow_style
        described = note and _is_leaf(value, lines)
        if described:
            yield name, yaml.SafeLoader("").construct_document(value), note
        elif is_table and isinstance(value, yaml.MappingNode):
            yield from _below(value, f"{name}.", lines)


def _is_leaf(node: yaml.Node, lines: list[str]) -> bool:
    """Whether a value is described as a whole: none of the keys in it has a comment."""
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        return True
    return not any(_note(lines, key.start_mark.line) for key, _ in node.value)


def _note(lines: list[str], line: int) -> str:
    notes: list[str] = []
    while line > 0 and lines[line - 1].strip().startswith("#"):
        line -= 1
        notes.insert(0, lines[line].strip().removeprefix("#").strip())
    return " ".join(notes).replace("|", "\\|")


def _default(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return "`" + text.removesuffix("\n").removesuffix("\n...").replace("|", "\\|") + "`"
