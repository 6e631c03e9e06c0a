"""Benchmark rows side by side: what a configuration costs against the one without speculation.

A row to compare is `{"config": ..., "concurrency": ..., "tok_s" | "tpot_ms" | "wall_s": number or [low, high]}`.
Rows are compared at equal concurrency only, each against the run without speculation or, where there is none,
against the first row. Drafting nothing is not the same as no speculation: what K = 0 costs is compared like
anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.bench_rows import read_bench_rows
from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import Comparison, Report

MEASURES = ("tok_s", "tpot_ms", "wall_s")
_LATENCIES = frozenset({"tpot_ms", "wall_s"})
_WITHOUT = re.compile(r"^(no[ _-]?spec\w*|off|none|without.*|baseline)$", re.IGNORECASE)
_ZERO_DEPTH = re.compile(r"\bk\s*=\s*0\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Row:
    config: str
    concurrency: int
    measures: Mapping[str, tuple[float, float]]


def read_runs(body: Any) -> Report | None:
    """Compare benchmark rows, and read each that has a run's own figures.

    Args:
        body: decoded JSON.

    Returns:
        A report with one comparison per configuration, concurrency and measure, and the runs one by one (rows of no
        configuration are never compared: they may be of different models); None if these are no such rows.
    """
    rows, runs = _rows(body), read_bench_rows(body)
    if not rows:
        return runs_report(runs)
    comparisons: list[Comparison] = []
    for concurrency in sorted({row.concurrency for row in rows}):
        level = [row for row in rows if row.concurrency == concurrency]
        baseline = next((row for row in level if _WITHOUT.match(row.config)), level[0])
        for row in level:
            if row is not baseline:
                comparisons += _compare(baseline, row)
    notices = (*_taxes(comparisons), *_run_notices(runs))
    return Report(None, "runs", notices=notices, comparisons=tuple(comparisons), runs=runs)


def runs_report(runs: tuple[BenchRun, ...]) -> Report | None:
    """A report of runs that are not compared; None without runs."""
    return Report(None, "runs", notices=_run_notices(runs), runs=runs) if runs else None


def _run_notices(runs: Iterable[BenchRun]) -> tuple[Notice, ...]:
    return tuple(notice for run in runs for notice in run.notices())


def _rows(body: Any) -> list[_Row]:
    if not isinstance(body, list):
        return []
    rows = []
    for entry in body:
        row = _row(entry)
        if row is None:
            return []
        rows.append(row)
    return rows


def _row(entry: Any) -> _Row | None:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("config"), str):
        return None
    concurrency = entry.get("concurrency")
    if not isinstance(concurrency, int) or isinstance(concurrency, bool) or concurrency < 1:
        return None
    measures = {name: span for name in MEASURES if (span := _span(entry.get(name))) is not None}
    return _Row(entry["config"], concurrency, measures) if measures else None


def _span(value: Any) -> tuple[float, float] | None:
    """A number or a range of numbers, all positive, as (low, high)."""
    values = value if isinstance(value, list) else [value]
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool) and v > 0]
    if not numbers or len(numbers) != len(values):
        return None
    return min(numbers), max(numbers)


def _compare(baseline: _Row, row: _Row) -> Iterable[Comparison]:
    for measure in MEASURES:
        if measure in baseline.measures and measure in row.measures:
            before, after = baseline.measures[measure], row.measures[measure]
            low, high = after[0] / before[1], after[1] / before[0]
            yield Comparison(
                baseline.config,
                row.config,
                row.concurrency,
                measure,
                change_pct=(100 * (low - 1), 100 * (high - 1)),
                factor=(low, high),
                worse=low > 1 if measure in _LATENCIES else high < 1,
            )


def _taxes(comparisons: Iterable[Comparison]) -> Iterable[Notice]:
    for item in comparisons:
        if item.worse and _ZERO_DEPTH.search(item.config) and item.measure in _LATENCIES:
            yield Notice(
                "zero_draft_tax",
                f"At concurrency {item.concurrency}, {item.config} drafts nothing and {item.measure} is still "
                f"{item.change_pct[0]:.2f} % over {item.baseline}: K = 0 does not restore it.",
            )
