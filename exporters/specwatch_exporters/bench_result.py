"""The text that a benchmark's client prints at its end: a block headed `Serving Benchmark Result`.

vLLM (`vllm bench serve`, and `benchmark_serving.py` before it) and SGLang (`bench_serving`) print nearly the same
block, one `label: value` a line. Labels are taken from vLLM 0.32 and SGLang 0.4 to 0.5; order does not matter, and
what is missing is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from specwatch_exporters.bench_rows import run_of
from specwatch_exporters.bench_run import BenchRun

_TITLE = "Serving Benchmark Result"
_HEADER = re.compile(rf"={{3,}}\s*{_TITLE}\s*={{3,}}")
_END = re.compile(r"={20,}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINE = re.compile(r"^[\s>|*-]*(?P<label>[A-Za-z][^:]{0,60}):\s+(?P<value>\d+(?:\.\d+)?)\s*\|?\s*$")
_TIME = re.compile(r"(?P<which>mean|median|p50|p99) (?P<what>ttft|tpot|itl) \(ms\)")
_POSITION = re.compile(r"position (?P<index>\d{1,2})")
_LIMIT = "max_concurrency"
_FIELDS = {
    "successful requests": "completed",
    "failed requests": "failed",
    "maximum request concurrency": _LIMIT,
    "max request concurrency": _LIMIT,
    "max reqeuest concurrency": _LIMIT,  # as SGLang 0.4 spelled it
    "benchmark duration (s)": "duration",
    "total generated tokens": "total_output_tokens",
    "output token throughput (tok/s)": "output_throughput",
    "peak output token throughput (tok/s)": "max_output_tokens_per_s",
    "accept length": "accept_length",
    "acceptance length": "spec_decode_acceptance_length",
    "acceptance rate (%)": "spec_decode_acceptance_rate",
    "drafts": "spec_decode_num_drafts",
    "draft tokens": "spec_decode_draft_tokens",
    "accepted tokens": "spec_decode_accepted_tokens",
}


def read_bench_result(text: str) -> tuple[BenchRun, ...]:
    """Read every result block of a text.

    Args:
        text: what the client printed, with whatever stands around the blocks; a block may lack its end.

    Returns:
        One run for each block that holds a run's figures, in order; empty if there is none.
    """
    if _TITLE not in text:
        return ()
    blocks = _blocks(text.splitlines())
    found = (run_of(block, f"run {index}") for index, block in enumerate(blocks, start=1))
    return tuple(run for run in found if run is not None)


def _blocks(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Fields of each block, under the names of vLLM's JSON; older vLLM prints the concurrency before its block."""
    block: dict[str, Any] | None = None
    limit: float | None = None
    for raw in lines:
        line = _COLOUR.sub("", raw)
        if block is not None and (_HEADER.search(line) or _END.search(line)):
            yield _closed(block, limit)
            block, limit = None, None
        if _HEADER.search(line):
            block = {}
            continue
        field = _field(line)
        if field is None:
            continue
        if block is not None:
            block.setdefault(*field)
        elif field[0] == _LIMIT:
            limit = field[1]
    if block is not None:
        yield _closed(block, limit)


def _field(line: str) -> tuple[str, float] | None:
    found = _LINE.match(line)
    if found is None:
        return None
    label, value = found["label"].strip().lower(), float(found["value"])
    time = _TIME.fullmatch(label)
    if time is not None:
        return f"{time['which']}_{time['what']}_ms", value
    position = _POSITION.fullmatch(label)
    if position is not None:
        return f"position {int(position['index'])}", value
    return (_FIELDS[label], value) if label in _FIELDS else None


def _closed(block: dict[str, Any], limit: float | None) -> dict[str, Any]:
    if limit is not None:
        block.setdefault(_LIMIT, limit)
    rates: list[float] = []
    while f"position {len(rates)}" in block:
        rates.append(block[f"position {len(rates)}"] / 100)
    return {**block, "spec_decode_per_position_acceptance_rates": rates}
