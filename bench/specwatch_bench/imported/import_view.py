"""Imported runs for the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from specwatch_bench.imported.import_cells import why_no_cell
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.serving_results import ROWS
from specwatch_exporters.acceptance import ratio
from specwatch_exporters.bench_run import Times

_HOUR = 3600.0
_MILLION = 1e6
_COLUMNS = (
    "load",
    "requests\nfailed",
    "tokens/s",
    "TTFT ms\np50/p99",
    "ms a token\np50/p99",
    "gap ms\np50/p99",
    "tokens\na chunk",
    "length\naccepted",
)


def usd_per_million(found: ImportedRun, gpu_hour: float, gpus: int) -> float | None:
    """Price of a million output tokens at the throughput of the run, input tokens included, in dollars.

    Args:
        found: the run.
        gpu_hour: price of one GPU for an hour, dollars.
        gpus: that served the run.
    """
    run = found.run
    rate = run.counted_tok_s if run.throughput_agrees is False else run.output_tok_s or run.counted_tok_s
    return ratio(gpu_hour * gpus * _MILLION, None if rate is None else rate * _HOUR)


def runs_json(runs: Sequence[ImportedRun], price: tuple[float, int] | None) -> str:
    """One JSON list: what `inspect` says of each run, and what only an import knows; unknown numbers are null."""
    return json.dumps([_run_json(found, price) for found in runs], indent=2, allow_nan=False)


def _run_json(found: ImportedRun, price: tuple[float, int] | None) -> dict[str, Any]:
    figures = found.figures
    return {
        "tool": found.tool,
        **found.run.to_json(),
        "e2e_ms": found.e2e.to_json(),
        "input_tokens": found.input_tokens,
        "rate": found.rate,
        "records": len(found.records),
        "figures": None if why_no_cell(found) or figures is None else figures.to_json(),
        "no_cell": why_no_cell(found) or None,
        "usd_per_1m_output": None if price is None else usd_per_million(found, *price),
        "remarks": list(found.said),
    }


def show_runs(
    console: Console,
    runs: Sequence[ImportedRun],
    price: tuple[float, int] | None,
    *,
    cells: Sequence[Path] | None = None,
) -> None:
    """Print a table, and under it what a reader of the figures must know.

    Args:
        console: where to.
        runs: in this order.
        price: dollars for a GPU hour, and number of GPUs; None for no such column.
        cells: written files, None when none were asked for.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("tool\nrun", overflow="fold")
    for title in _COLUMNS:
        table.add_column(title, justify="right", no_wrap=True)
    if price is not None:
        table.add_column("$ per 1M\noutput", justify="right", no_wrap=True)
    for found in runs:
        table.add_row(*_row(found, price))
    console.print(table)
    for found in runs:
        for words in found.said:
            console.print(f"! {words}", markup=False, highlight=False)
    if cells is not None:
        for found in runs:
            why = why_no_cell(found)
            if why:
                console.print(f"! {found.run.name} ({found.tool}): no cell: {why}.", markup=False, highlight=False)
        console.print(f"{len(cells)} of {len(runs)} runs written as cells", *cells, sep="\n  ", highlight=False)
    if len(runs) > 1:
        rows = " `specwatch inspect` compares rows that name their `config`." if _has_rows(runs) else ""
        console.print(
            f"Runs are not set against each other: they may be of different models, prompts or machines.{rows}"
        )


def _has_rows(runs: Sequence[ImportedRun]) -> bool:
    return any(found.tool == ROWS for found in runs)


def _row(found: ImportedRun, price: tuple[float, int] | None) -> list[str]:
    run = found.run
    implied = run.implied
    row = [
        escape(f"{found.tool}\n{run.name}"),
        f"{found.rate:g}/s" if found.rate else _text(run.concurrency, "{:d}"),
        f"{_text(run.requests, '{:,}')}\n{_text(run.failed, '{:,}')}",
        _text(run.counted_tok_s or run.output_tok_s, "{:,.1f}"),
        _pair(run.ttft),
        _pair(run.tpot),
        _pair(run.itl),
        _text(None if implied is None or run.itl_counts is None else implied.tokens, "{:.2f}"),
        f"{_text(run.mean_acceptance_length, '{:.2f}')}\n{_text(run.acceptance_rate, '{:.1%}')}",
    ]
    return row if price is None else [*row, _text(usd_per_million(found, *price), "{:,.4f}")]


def _pair(times: Times) -> str:
    return "\n".join(_text(value, "{:,.2f}") for value in (times.p50, times.p99))


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
