"""The tables that AIPerf (0.13) and GenAI-Perf (0.0.16) print: a row for each metric, a column for a statistic.

AIPerf prints what it learnt of speculation in a table of its own, behind the other. A report of several runs in one
table, as of one workload for each kind of content, has a column for the mean of each (`coding avg`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from specwatch_bench.imported.aiperf_results import ACCEPTANCE_LENGTH, ACCEPTANCE_RATE, TOOL, read_aiperf
from specwatch_bench.imported.genai_perf_results import TOOL as GENAI_PERF
from specwatch_bench.imported.imported_run import ImportedRun

_BARS: Final = re.compile(r"[│┃|]")
_NAME: Final = re.compile(r"(?P<name>[A-Za-z_ ]+?)\s*(?:\((?P<unit>[^)]*)\))?")
_HEADS: Final = ("statistic", "metric")
_MEAN: Final = "avg"
_MEAN_OF: Final = re.compile(r"(?P<run>.+?)[\s_-]+avg")
_UNITS: Final = {"seconds": "sec"}
_NEEDED: Final = frozenset({"output_token_throughput", "inter_token_latency", "time_to_first_token"})
_METRICS: Final = frozenset(
    {
        ACCEPTANCE_LENGTH,
        ACCEPTANCE_RATE,
        "benchmark_duration",
        "error_request_count",
        "inter_chunk_latency",
        "request_count",
        "request_latency",
        *_NEEDED,
    }
)


def read_perf_tables(text: str) -> list[ImportedRun]:
    """A run for each table that has a throughput or a latency per token; none in other texts."""
    tool = TOOL if "aiperf" in text.lower() else GENAI_PERF
    bodies: list[dict[str, Any]] = []
    for body in _tables(text):
        if body.keys() & _NEEDED:
            bodies.append(body)
        elif bodies:
            bodies[-1] |= {ACCEPTANCE_LENGTH: body[ACCEPTANCE_LENGTH]} if ACCEPTANCE_LENGTH in body else {}
    return [read_aiperf(one, tool=tool) for body in bodies for one in _each(body)]


def _tables(text: str) -> Iterator[dict[str, Any]]:
    body: dict[str, Any] = {}
    heads: list[str] = []
    for cells in _rows(text):
        if cells[0].lower() in _HEADS:
            if body:
                yield body
            body, heads = {}, [cell.lower() for cell in cells[1:]]
            continue
        found = _NAME.fullmatch(cells[0])
        name = "" if found is None else found["name"].lower().replace(" ", "_")
        if found is None or not heads or name not in _METRICS:
            continue
        values = {
            head: value for head, cell in zip(heads, cells[1:], strict=False) if (value := _value(cell)) is not None
        }
        body[name] = {"unit": _UNITS.get(found["unit"] or "", found["unit"]), **values}
    if body:
        yield body


def _each(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The table itself, or one of it for each run whose means it holds; none without any mean."""
    if any(_MEAN in metric for metric in body.values()):
        yield body
        return
    heads = dict.fromkeys(head for metric in body.values() for head in metric)
    for head in heads:
        found = _MEAN_OF.fullmatch(head)
        if found is not None:
            metrics = {
                name: {"unit": metric["unit"], _MEAN: metric[head]}
                for name, metric in body.items()
                if head in metric
            }
            yield {**metrics, "input_config": {"models": {"items": [{"name": found["run"]}]}}}


def _rows(text: str) -> Iterator[list[str]]:
    """Cells of each row; a name that goes on in the next line is joined."""
    last: list[str] | None = None
    for line in text.splitlines():
        if len(_BARS.findall(line)) < 2:
            continue
        cells = [cell.strip() for cell in _BARS.split(line.strip())[1:-1]]
        if last is not None and cells and cells[0] and not any(cells[1:]):
            last[0] = f"{last[0]} {cells[0]}"
            continue
        if last:
            yield last
        last = cells
    if last:
        yield last


def _value(cell: str) -> float | None:
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return None
