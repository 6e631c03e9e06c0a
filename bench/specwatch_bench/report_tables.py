"""The tables of one target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from specwatch_bench.profile_table import Range
from specwatch_bench.report_blocks import Mark, Table, Words
from specwatch_bench.report_cell import FEW, CellReport, Times
from specwatch_bench.report_classes import Acceptance, ClassSpeedup
from specwatch_bench.report_draws import Floats, interval
from specwatch_bench.report_target import Target
from specwatch_bench.report_verdict import Crossover, Effect, Speedup, Verdict
from specwatch_bench.report_words import drawn, number, percent, ranged

_TONES: Final = {Effect.HELPS: "", Effect.HURTS: "bad", Effect.UNCLEAR: "quiet"}
MODELLED: Final = "†"


def speedup_cell(one: Speedup | None, *, best: bool) -> Words:
    """S with its interval; green for the best one that helps, red where it hurts."""
    if one is None:
        return "-"
    seen = one.range
    mark = MODELLED if one.modelled else ""
    hurts = " hurts" if one.effect is Effect.HURTS else ""
    words = f"{seen.value:.2f}x ({seen.lower:.2f} to {seen.upper:.2f}){mark}{hurts}"
    tone = "good" if best and one.effect is Effect.HELPS else _TONES[one.effect]
    return Mark(words, tone) if tone else words


def verdict_table(target: Target, verdicts: Sequence[Verdict]) -> Table:
    """A row per batch size, a column per drafter."""
    labels = [target.label(name) for name in target.drafters]
    rows: list[list[Words]] = []
    for verdict in verdicts:
        by_label = {one.label: one for one in verdict.speedups}
        best = verdict.speedups[0].label
        cells = [speedup_cell(by_label.get(label), best=label == best) for label in labels]
        rows.append([str(verdict.batch), *cells])
    return Table(("batch", *labels), rows, words=1)


def crossover_table(found: Sequence[Crossover]) -> Table:
    """The batch from which on a drafter loses."""
    rows = [[one.label, one.words] for one in found]
    return Table(("drafter", "crossover batch"), rows, words=2)


def acceptance_table(found: Sequence[Acceptance]) -> Table:
    """Per drafter and class: what was set and what the engine counted."""
    rows: list[list[Words]] = [
        [
            one.label,
            one.traffic_class,
            _given(one),
            ", ".join("-" if share is None else f"{share:.2f}" for share in one.seen) or _mean(one.counted),
            f"{one.length:.2f}",
            f"{one.drafts:,.0f}",
        ]
        for one in found
    ]
    columns = ("drafter", "class", "set, by position", "counted by the engine", "tau", "draft steps")
    return Table(columns, rows, "Acceptance by position and class", words=4, folded=True)


def _given(one: Acceptance) -> str:
    if one.mean_only and one.given:
        return _mean(one.length)
    return ", ".join(f"{share:.2f}" for share in one.given) or "the draft's own"


def _mean(length: float) -> str:
    return f"mean length {length:.2f}"


def class_table(found: Sequence[ClassSpeedup]) -> Table:
    """S by class, from step times, and measured where the class ran."""
    rows: list[list[Words]] = [
        [
            one.label,
            one.traffic_class,
            str(one.batch),
            f"{one.length:.2f}",
            _judged(one.range),
            "-" if one.measured is None else f"{_times(one.measured)}",
        ]
        for one in found
    ]
    columns = ("drafter", "class", "batch", "tokens a step", "S from step times", "S measured")
    return Table(columns, rows, "Speed-up by class and batch", words=2, folded=True)


def _judged(found: Range) -> Words:
    words = _times(found)
    return Mark(f"{words} hurts", "bad") if found.upper < 1 else words


def _times(found: Range) -> str:
    return f"{found.value:.2f}x ({found.lower:.2f} to {found.upper:.2f})"


def latency_table(target: Target) -> Table:
    """Every published cell: throughput and times."""
    rows = [_latency_row(target, cell) for cell in target.published]
    columns = (
        "engine", "class", "batch", "requests", "output tok/s", "TTFT p50, ms", "TTFT p95", "TTFT p99",
        "request p50, ms", "request p95", "request p99", "per token p50, ms", "per token p99", "gap p99, ms",
    )  # fmt: skip
    return Table(columns, rows, "Every cell: throughput, latency and its tail", words=2, folded=True)


def _latency_row(target: Target, cell: CellReport) -> list[Words]:
    star = " *" if cell.doubts else ""
    return [
        target.label(cell.engine),
        str(cell.head["dataset"]["traffic_class"]),
        f"{cell.load}{star}",
        str(cell.requests),
        drawn(cell.tok_s),
        *_quantiles(cell.ttft, cell.requests),
        *_quantiles(cell.e2e, cell.requests),
        drawn(cell.token.p50),
        drawn(cell.token.p99),
        drawn(cell.chunk.p99),
    ]


def _quantiles(times: Times, requests: int) -> Iterator[Words]:
    for quantile, few in FEW.items():
        yield limited(times.of(quantile), short=requests < few)


def limited(draws: Floats, *, short: bool) -> Words:
    """A quantile with its interval, or its lower limit where there are too few requests for an upper one."""
    seen = interval(draws)
    return Mark(f"≥ {number(seen.value)}", "quiet") if short else ranged(seen)


def gpu_table(target: Target) -> Table | None:
    """GPU use of every published cell; None where nobody read it or nobody knows which GPU it was."""
    rows: list[list[Words]] = []
    for cell in target.published:
        use = target.gpu_of(cell)
        if use is not None and cell.dataset == target.shared:
            joule = interval(cell.tok_s / use.watts) if use.watts else Range(0, 0, 0)
            rows.append(
                [
                    target.label(cell.engine),
                    cell.load,
                    percent(use.busy),
                    f"{use.watts:.0f} W",
                    f"{use.memory_gib:.0f} GiB",
                    ranged(joule),
                ]
            )
    columns = ("engine", "batch", "busy", "power", "memory", "output tokens per joule")
    return Table(columns, rows, "GPU use by NVML", words=1, folded=True) if rows else None


def refused_table(target: Target) -> Table | None:
    """Cells that are not published, and why; None when all are."""
    rows: list[list[Words]] = []
    for cell in target.cells:
        if cell.refused:
            use = target.gpu_of(cell)
            where = f"{target.label(cell.engine)}, {cell.dataset}, {cell.load}"
            busy = "-" if use is None else f"{percent(use.busy)}, {use.watts:.0f} W"
            rows.append([where, cell.refused, busy])
    columns = ("cell", "why it is not published", "GPU busy meanwhile")
    return Table(columns, rows, words=2) if rows else None
