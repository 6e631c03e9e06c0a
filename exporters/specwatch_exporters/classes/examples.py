"""Labelled prompts from a JSONL file: one object per line with `text` and `class`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from specwatch_exporters.classes.class_name import RULE, is_class_name

MAX_LINE = 64 << 20
MAX_EXAMPLES = 200_000
_SHAPE = 'each line is an object such as {"text": "...", "class": "code"}'


class ExamplesError(ValueError):
    """The file cannot be used; the message is one line that names the line and never holds a prompt."""


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled prompt.

    Attributes:
        text: the prompt.
        name: its class (`class` in the file).
        source: where it comes from, when the file says so; results are also given per source.
        group: what it belongs to (a conversation, a template), when the file says so; what a class has of one
            group is never split between training and test.
        line: its first line in the file, from 1; no part of what it is.
    """

    text: str
    name: str
    source: str | None = None
    group: str | None = None
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """What a file held.

    Attributes:
        examples: in file order, each pair of text and class once.
        repeats: lines that repeated a text and class seen before; they are left out.
    """

    examples: tuple[Example, ...]
    repeats: int


def read_examples(path: Path) -> ExampleFile:
    """Read a JSONL file of labelled prompts; blank lines are allowed.

    Raises:
        ExamplesError: it cannot be read, a line is not a labelled prompt, or there are none or too many.
    """
    try:
        with path.open("rb") as file:
            return _read(file, str(path))
    except OSError as error:
        raise ExamplesError(f"{path}: cannot be read: {error.strerror or error}") from error


def disputes(examples: Iterable[Example]) -> list[tuple[Example, Example]]:
    """Prompts with more than one class: of each the first example and the first one of another class."""
    first: dict[str, Example] = {}
    found: dict[str, tuple[Example, Example]] = {}
    for example in examples:
        known = first.setdefault(example.text, example)
        if known.name != example.name:
            found.setdefault(example.text, (known, example))
    return list(found.values())


def _read(file: BinaryIO, name: str) -> ExampleFile:
    found: dict[tuple[str, str], Example] = {}
    lines = number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            example = _example(line, number)
        except ValueError as error:
            raise ExamplesError(f"{name}:{number}: {error}") from error
        lines += 1
        found.setdefault((example.text, example.name), example)
        if len(found) > MAX_EXAMPLES:
            raise ExamplesError(f"{name}: more than {MAX_EXAMPLES:,} different prompts; take a sample of them")
    if not found:
        raise ExamplesError(f"{name}: no prompts in it; {_SHAPE}")
    return ExampleFile(tuple(found.values()), lines - len(found))


def _example(line: bytes, number: int) -> Example:
    """One line's example; raises `ValueError` with one clause."""
    if len(line) > MAX_LINE:
        raise ValueError(f"longer than {MAX_LINE:,} bytes")
    try:
        record = json.loads(line.decode().rstrip())
    except UnicodeDecodeError as error:
        raise ValueError("not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno}); {_SHAPE}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON that can be read; {_SHAPE}") from error
    if not isinstance(record, dict):
        raise ValueError(f"not a JSON object; {_SHAPE}")  # noqa: TRY004 - a fault of the file, not of a caller
    text, name = _string(record, "text"), _string(record, "class")
    if not text.strip():
        raise ValueError("'text' is blank")
    if not is_class_name(name):
        raise ValueError(f"'class' must be {RULE}")
    return Example(text, name, _optional(record, "source"), _optional(record, "group"), number)


def _string(record: dict[str, Any], field: str) -> str:
    if field not in record:
        raise ValueError(f"'{field}' is missing; {_SHAPE}")
    value = record[field]
    if not isinstance(value, str):
        raise ValueError(f"'{field}' must be a string, not {_kind(value)}")  # noqa: TRY004 - see above
    return value


def _optional(record: dict[str, Any], field: str) -> str | None:
    return None if record.get(field) is None else _string(record, field)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else "a number"
