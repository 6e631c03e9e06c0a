"""Markdown tables of a benchmark's own labels: a row for each label and a column for each run, or the other way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from specwatch_exporters.bench_labels import field_of, number_of, with_positions
from specwatch_exporters.bench_rows import run_of
from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.markdown_table import Table, markdown_tables

_LEAST: Final = 3  # figures without which a column or a row is no run


def read_bench_tables(text: str) -> tuple[BenchRun, ...]:
    """Runs of every such table; columns that hold changes and no figures are none."""
    found = (
        (name, fields) for table in markdown_tables(text) for name, fields in (*_columns(table), *_rows(table))
    )
    runs = (run_of(fields, name) for name, fields in found)
    return tuple(run for run in runs if run is not None)


def _columns(table: Table) -> Iterator[tuple[str, dict[str, Any]]]:
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


def _rows(table: Table) -> Iterator[tuple[str, dict[str, Any]]]:
    """Runs whose labels stand in the table's head; what is no label there names the run."""
    heads, *rows = table
    labels = [field_of(head.rstrip(":")) for head in heads]
    first = next((column for column, label in enumerate(labels) if label is not None), 0)
    for number, cells in enumerate(rows, start=1):
        pairs = ((label, number_of(cell)) for label, cell in zip(labels, cells, strict=False) if label is not None)
        fields: dict[str, Any] = {label: value for label, value in pairs if value is not None}
        if len(fields) >= _LEAST:
            yield _name(heads[:first], cells) or f"run {number}", with_positions(fields)


def _name(heads: list[str], cells: list[str]) -> str:
    """The cells before the figures; a number goes with its head."""
    named = zip(heads, cells, strict=False)
    return ", ".join(cell if number_of(cell) is None else f"{head} {cell}" for head, cell in named if cell)
