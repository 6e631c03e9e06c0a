"""Phrase files: one template per line, its {slots} filled at random."""

from __future__ import annotations

import functools
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).parent / "templates"


def lines_of(name: str) -> list[str]:
    """Templates of a file, in order; a line feed is written as \\n in it."""
    lines = (line for line in (FOLDER / f"{name}.txt").read_text().splitlines() if line and line[0] != "#")
    return [
        line.replace("\\n", "\n") if "\\n" in line and name.startswith(("code", "other")) else line
        for line in lines
    ]


def blocks_of(name: str) -> list[list[str]]:
    """Lines of a file, one list per block; blank lines divide blocks."""
    text = (FOLDER / f"{name}.txt").read_text()
    blocks = ([line for line in block.splitlines() if line[:1] != "#"] for block in text.split("\n\n"))
    return [block for block in blocks if block]


@functools.cache
def slots() -> dict[str, list[str]]:
    found = {}
    for line in lines_of("slots"):
        name, _, values = line.partition(": ")
        found[name] = values.split(" | ")
    return found


class Filler(dict[str, Any]):
    """Values for `str.format_map`: the given ones, and a random word for each use of any other slot."""

    def __init__(self, rng: Random, **given: Any) -> None:
        super().__init__(given)
        self._rng = rng

    def __missing__(self, name: str) -> str:
        return self._rng.choice(slots()[name])


def fill(template: str, rng: Random, **given: Any) -> str:
    """Fill a template; a slot used twice may get two values unless it is given."""
    return template.format_map(Filler(rng, **given))
