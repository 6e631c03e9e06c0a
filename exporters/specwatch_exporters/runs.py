"""Benchmark rows side by side: what a configuration costs against the one without speculation.

A row to compare is `{"config": ..., "concurrency": ..., "tok_s" | "tpot_ms" | "wall_s": number or [low, high]}`; a
request rate or a batch may stand for the concurrency. Rows are compared at equal load only, each against the run
without speculation or, where there is none, against the first row. Drafting nothing is not the same as no
speculation: what K = 0 costs is compared like anything else. ITL is not compared: with speculation it is a chunk's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_exporters.acceptance import ratio
from specwatch_exporters.bench_rows import read_bench_rows
from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.bodies.fields import number
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import Comparison, Report

_THROUGHPUT: Final = re.compile(r"(output_)?tok_s|output_throughput")
_LATENCY: Final = re.compile(r"((mean|median|p\d\d)_)?(tpot|ttft|e2el?|latency|step)_ms|wall_s")
_COUNTED: Final = "tok_s"
_LEVELS: Final = ("concurrency", "max_concurrency", "batch_size", "batch", "qps", "request_rate", "rps")
_DRAFTS: Final = r"(spec\w*|mtp|eagle\d?|n-?gram|draft\w*|decod\w*)"
_WITHOUT: Final = re.compile(
    rf"(no|non|without|w/o)[ _-]?{_DRAFTS}([ _-]?{_DRAFTS})*|without\b.*|({_DRAFTS}[ _-])*(off|disabled)|off|none|"
    r"base(line)?|(vanilla|plain|auto-?regressive)( decod\w+)?|target[ _-]only",
    re.IGNORECASE,
)
_FIRST: Final = "ttft_ms"  # the prompt's, which drafts nothing
_NOT_WORTH: Final = "Acceptance does not tell whether speculation pays: what its steps cost does."
_ZERO_DEPTH: Final = re.compile(r"\bk\s*=\s*0\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Row:
    config: str
    level: str
    at: float | None
    measures: Mapping[str, tuple[float, float]]
    accepted: float | None

    @property
    def load(self) -> tuple[str, float]:
        return self.level, self.at or 0.0


def read_runs(body: Any) -> Report | None:
    """Compare benchmark rows, and read each that has a run's own figures.

    Args:
        body: decoded JSON.

    Returns:
        A report with one comparison per configuration, load and measure, and the runs one by one (rows of no
        configuration are never compared: they may be of different models); None if these are no such rows.
    """
    rows, runs = _rows(body), read_bench_rows(body)
    if not rows:
        return runs_report(runs)
    comparisons: list[Comparison] = []
    notices: list[Notice] = []
    for load in sorted({row.load for row in rows}):
        level = [row for row in rows if row.load == load]
        baseline = next((row for row in level if _WITHOUT.fullmatch(row.config.strip())), level[0])
        for row in level:
            if row is not baseline:
                found = list(_compare(baseline, row))
                comparisons += found
                notices += _judged(row, found, plain=_WITHOUT.fullmatch(baseline.config.strip()) is not None)
    said = (*notices, *_run_notices(runs))
    return Report(None, "runs", notices=said, comparisons=tuple(comparisons), runs=runs)


def runs_report(runs: tuple[BenchRun, ...]) -> Report | None:
    """A report of runs that are not compared; None without runs."""
    return Report(None, "runs", notices=_run_notices(runs), runs=runs) if runs else None


def _run_notices(runs: Iterable[BenchRun]) -> tuple[Notice, ...]:
    return tuple(notice for run in runs for notice in run.notices())


def _rows(body: Any) -> list[_Row]:
    """The rows; none unless all are rows, and all tell their load or none does."""
    rows = [_row(entry) for entry in body] if isinstance(body, list) else []
    known = [row for row in rows if row is not None]
    told = {row.level != "" for row in known}
    distinct = len({row.config for row in known}) == len(known)
    return known if len(known) == len(rows) and (told == {True} or (told == {False} and distinct)) else []


def _row(entry: Any) -> _Row | None:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("config"), str):
        return None
    level = next((name for name in _LEVELS if entry.get(name) is not None), "")
    at = number(entry.get(level))
    measures = dict(_measures(entry))
    if (level and not at) or not measures:
        return None
    return _Row(entry["config"], level, at, measures, number(entry.get("acceptance_rate")))


def _measures(entry: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, float]]]:
    """What can be compared, throughput first; it is counted where only tokens and their time are told."""
    spans = {name: span for name, value in entry.items() if (span := _span(value)) is not None}
    throughput = [name for name in spans if _THROUGHPUT.fullmatch(name)]
    counted = ratio(number(entry.get("output_tokens")), number(entry.get("duration_s")))
    if not throughput and counted:
        yield _COUNTED, (counted, counted)
    for name in (*throughput, *(name for name in spans if _LATENCY.fullmatch(name))):
        yield name, spans[name]


def _span(value: Any) -> tuple[float, float] | None:
    """A number or a range of numbers, all positive, as (low, high)."""
    values = value if isinstance(value, list) else [value]
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool) and v > 0]
    if not numbers or len(numbers) != len(values):
        return None
    return min(numbers), max(numbers)


def _compare(baseline: _Row, row: _Row) -> Iterable[Comparison]:
    for measure, before in baseline.measures.items():
        after = row.measures.get(measure)
        if after is None:
            continue
        low, high = after[0] / before[1], after[1] / before[0]
        yield Comparison(
            baseline.config,
            row.config,
            row.level,
            row.at,
            measure,
            change_pct=(100 * (low - 1), 100 * (high - 1)),
            factor=(low, high),
            worse=high < 1 if _THROUGHPUT.fullmatch(measure) else low > 1,
        )


def _judged(row: _Row, found: Iterable[Comparison], *, plain: bool) -> Iterator[Notice]:
    """What must be said of a row that is slower; `plain` if it stands against a run without speculation."""
    for item in found:
        if not item.worse:
            continue
        change = max(item.change_pct) if item.change_pct[0] < 0 else min(item.change_pct)
        far = f"{abs(change):.2f} % {'under' if change < 0 else 'over'}"
        where = f"At {item.level} {item.at:g}, " if item.at is not None else ""
        if _ZERO_DEPTH.search(item.config):
            text = f"{where}{item.config} drafts nothing and {item.measure} is still {far} {item.baseline}"
            yield Notice("zero_draft_tax", f"{text}: K = 0 does not restore it.")
        elif plain and not item.measure.endswith(_FIRST):
            accepted = "" if row.accepted is None else f" with {row.accepted:.1%} of its draft tokens accepted"
            text = f"{where}{item.config} is slower than {item.baseline}{accepted}: {item.measure} is {far}"
            yield Notice("speculation_slower", f"{text}. {_NOT_WORTH}")
            return
