"""Markdown tables as issues have them: with outer bars or without, quoted, with emphasis in the cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_RULE: Final = re.compile(r"[\s|:-]*-[\s|:-]*")
_AROUND: Final = " *_~"

Table = list[list[str]]


def markdown_tables(text: str) -> Iterator[Table]:
    """Every table: its rows of cells, the heads first; the rule under them is left out."""
    table: Table = []
    for line in (*text.splitlines(), ""):
        row = line.strip(" >\t")
        if "|" not in row:
            if len(table) > 1:
                yield table
            table = []
        elif not _RULE.fullmatch(row):
            inner = row.removeprefix("|").removesuffix("|")
            table.append([cell.replace("`", "").replace("**", "").strip(_AROUND) for cell in inner.split("|")])
