"""Markdown tables that set configurations against each other, as issues and pull requests have them.

| Mode | Throughput | Avg latency | Avg accept len |
|---|---:|---:|---:|
| baseline | 460.7 tok/s | 4.442 s | nan |
| static3 | 954.8 tok/s | 2.117 s | 3.88 |

The heads are free text: a measure is known by its word and its unit, which may stand in the head or in the cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from specwatch_exporters.markdown_table import Table, markdown_tables
from specwatch_exporters.report import Report
from specwatch_exporters.runs import read_runs

_NUMBER: Final = re.compile(
    r"[~\u2248]?\s*(\d[\d,]*(?:\.\d+)?)\s*(tok(?:en)?s?/s\w*|t/s|tps|ms|s|%)?(?![\w.])", re.IGNORECASE
)
_LEVELS: Final = (
    (re.compile(r"\b(?:max[ _-]?)?concurren\w*|\bc\b|\bclients\b", re.IGNORECASE), "concurrency"),
    (re.compile(r"\bbatch(?:[ _-]?size)?\b|\bbs\b", re.IGNORECASE), "batch"),
    (re.compile(r"\bqps\b|\brps\b|\breq/s\b", re.IGNORECASE), "qps"),
)
_IN_HEAD: Final = re.compile(r"\bc(?:oncurrency)?\s*=\s*(\d{1,6})\b", re.IGNORECASE)
_WHICH: Final = re.compile(r"\b(p50|p9[059]|mean|median)\b", re.IGNORECASE)
_TIMES: Final = (
    (re.compile(r"\btpot\b|time per output token", re.IGNORECASE), "tpot"),
    (re.compile(r"\bttft\b|time to first token", re.IGNORECASE), "ttft"),
    (re.compile(r"\bstep\b", re.IGNORECASE), "step"),
    (re.compile(r"\be2el?\b|latency", re.IGNORECASE), "latency"),
)
_WALL: Final = re.compile(r"\bwall\b", re.IGNORECASE)
_SPEED: Final = re.compile(r"throughput|tok(?:en)?s?/s|\bt/s\b|\btps\b", re.IGNORECASE)
_RATE: Final = re.compile(r"accept\w*[ _-]?rate|\bacceptance\b(?!.*len)", re.IGNORECASE)
_OTHER: Final = re.compile(
    r"\bitl\b|inter[ -]token|speed-?up|\u0394|change|gain|total|request throughput", re.IGNORECASE
)
_LEAST_ROWS: Final = 2
_NO_MEASURE: Final = frozenset({"config", "acceptance_rate", *(name for _, name in _LEVELS)})


def comparison_report(text: str) -> Report | None:
    """What the tables of a text compare, each by itself: two may be of different models; None without any."""
    found = [report for table in markdown_tables(text) if (report := read_runs(_rows(table))) is not None]
    if not found:
        return None
    return Report(
        None,
        "runs",
        notices=tuple(notice for report in found for notice in report.notices),
        comparisons=tuple(one for report in found for one in report.comparisons),
        runs=tuple(run for report in found for run in report.runs),
    )


def _rows(table: Table) -> list[dict[str, Any]]:
    """Rows of a table, as `read_runs` takes them, if one column names configurations in words.

    Where another column of words varies (a model, a GPU), what may be compared with what is not known.
    """
    heads, *lines = table
    lines = [line for line in lines if len(line) == len(heads)]
    columns = [{line[column] for line in lines} for column in range(len(heads))]
    words = [at for at, cells in enumerate(columns) if len(cells) > 1 and not any(map(_NUMBER.match, cells))]
    if len(words) != 1 or "" in columns[words[0]]:
        return []
    rows = [dict(_fields(heads, line, words[0])) for line in lines]
    measured = [row for row in rows if row.keys() - _NO_MEASURE]
    return measured if len(measured) >= _LEAST_ROWS else []


def _fields(heads: list[str], cells: list[str], named: int) -> Iterator[tuple[str, Any]]:
    yield "config", cells[named]
    for column, (head, cell) in enumerate(zip(heads, cells, strict=False)):
        found = None if column == named else _NUMBER.match(cell)
        if found is None:
            continue
        value, unit = float(found[1].replace(",", "")), (found[2] or "").lower()
        at = _IN_HEAD.search(head)
        if at is not None:
            yield "concurrency", int(at[1])
        level = _level(head)
        measure = None if level is not None else _measure(head, unit)
        if level is not None:
            yield level, value
        elif measure is not None:
            name, factor = measure
            yield name, value * factor if name != "acceptance_rate" or unit == "%" or value > 1 else value


def _level(head: str) -> str | None:
    if _SPEED.search(head) or any(pattern.search(head) for pattern, _ in _TIMES):
        return None
    return next((name for pattern, name in _LEVELS if pattern.search(head)), None)


def _measure(head: str, unit: str) -> tuple[str, float] | None:
    """Name of the measure as rows have it, and what a cell is multiplied by; None for what is not compared."""
    if _OTHER.search(head):
        return None
    if _RATE.search(head):
        return "acceptance_rate", 0.01
    seconds = unit == "s" or (not unit and re.search(r"\(s(?:ec\w*)?\)|\[s\]", head) is not None)
    if _WALL.search(head):
        return "wall_s", 1.0 if seconds or not unit else 0.001
    for pattern, name in _TIMES:
        if pattern.search(head):
            which = _WHICH.search(head)
            return f"{which[1].lower()}_{name}_ms" if which else f"{name}_ms", 1000.0 if seconds else 1.0
    speed = _SPEED.search(head) if not unit else _SPEED.fullmatch(unit) or unit.startswith("tok")
    return ("tok_s", 1.0) if speed else None
