"""A Markdown table of a report: a row for each of a benchmark's labels, a column for each run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from specwatch_exporters.bench_labels import field_of, number_of, with_positions
from specwatch_exporters.bench_rows import run_of
from specwatch_exporters.bench_run import BenchRun

_RULE: Final = re.compile(r"[\s|:-]+")
_LEAST: Final = 3  # figures without which a column is no run


def read_bench_tables(text: str) -> tuple[BenchRun, ...]:
    """Runs of every such table; columns that hold changes and no figures are none."""
    runs = (run_of(fields, name) for table in _tables(text) for name, fields in _columns(table))
    return tuple(run for run in runs if run is not None)


def _tables(text: str) -> Iterator[list[list[str]]]:
    table: list[list[str]] = []
    for line in (*text.splitlines(), ""):
        row = line.strip()
        if not row.startswith("|"):
            if table:
                yield table
            table = []
        elif not _RULE.fullmatch(row):
            table.append([cell.strip(" *`") for cell in row.strip("|").split("|")])


def _columns(table: list[list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    heads, *rows = table
    for column, head in enumerate(heads[1:], start=1):
        fields: dict[str, Any] = {}
        for cells in rows:
            name = field_of(cells[0].rstrip(":"))
            value = number_of(cells[column]) if column < len(cells) else None
            if name is not None and value is not None:
                fields.setdefault(name, value)
        if len(fields) >= _LEAST:
            yield head or f"run {column}", with_positions(fields)
