"""The text that a benchmark's client prints at its end: a block headed `Serving Benchmark Result`.

vLLM (`vllm bench serve`, and `benchmark_serving.py` before it) and SGLang (`bench_serving`) print nearly the same
block, one `label: value` a line. Order does not matter, what is missing is unknown, and a log's own words may stand
before each line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from specwatch_exporters.bench_labels import LABEL, LIMIT, field_of, number_of, with_positions
from specwatch_exporters.bench_rows import run_of
from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.bench_table import read_bench_tables

_TITLE: Final = "Serving Benchmark Result"
_HEADER: Final = re.compile(rf"={{3,}}\s*{_TITLE}\s*={{3,}}")
_END: Final = re.compile(r"={20,}")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINE: Final = re.compile(rf"(?<![\w(])(?P<label>{LABEL}):\s+(?P<value>[\d,.]+)\s*\|?\s*$", re.IGNORECASE)
_WITHOUT_TITLE: Final = ("Benchmark duration (s)", "TTFT (ms)", "TPOT (ms)", "ITL (ms)", "-Speculative Decoding-")


def read_bench_result(text: str) -> tuple[BenchRun, ...]:
    """Read every result block of a text, or the table of labels and runs that stands for them in a report.

    Args:
        text: what the client printed, with whatever stands around the blocks; a block may lack its end, and an
            excerpt its title.

    Returns:
        One run for each block that holds a run's figures, in order; empty if there is none.
    """
    titled = _TITLE in text
    if not titled and not any(name in text for name in _WITHOUT_TITLE):
        return ()
    blocks = _blocks(text.splitlines(), within=not titled)
    found = (run_of(block, f"run {index}") for index, block in enumerate(blocks, start=1))
    return tuple(run for run in found if run is not None) or read_bench_tables(text)


def _blocks(lines: Iterable[str], *, within: bool) -> Iterator[dict[str, Any]]:
    """Fields of each block, under the names of vLLM's JSON; older vLLM prints the concurrency before its block."""
    block: dict[str, Any] | None = {} if within else None
    limit: float | None = None
    for raw in lines:
        line = _COLOUR.sub("", raw)
        if block is not None and (_HEADER.search(line) or _END.search(line)):
            yield _closed(block, limit)
            block, limit = {} if within else None, None
        if _HEADER.search(line):
            block = {}
            continue
        field = _field(line)
        if field is None:
            continue
        if block is not None:
            block.setdefault(*field)
        elif field[0] == LIMIT:
            limit = field[1]
    if block is not None:
        yield _closed(block, limit)


def _field(line: str) -> tuple[str, float] | None:
    found = _LINE.search(line)
    if found is None:
        return None
    name, value = field_of(found["label"]), number_of(found["value"])
    return None if name is None or value is None else (name, value)


def _closed(block: dict[str, Any], limit: float | None) -> dict[str, Any]:
    if limit is not None:
        block.setdefault(LIMIT, limit)
    return with_positions(block)
