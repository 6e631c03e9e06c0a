"""The part of a target's section about specwatch's plugin inside vLLM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specwatch_bench.count_words import counted
from specwatch_bench.plugin_counts import BatchRow, batch_rows
from specwatch_bench.profile_table import Range
from specwatch_bench.report_blocks import Block, Table, Text, Words
from specwatch_bench.report_plugin import PluginPair, StartPair, pair_words, plugin_cost, plugin_pairs, start_pairs
from specwatch_bench.report_prose import sentence
from specwatch_bench.report_target import Target
from specwatch_exporters.report import Latency


def plugin_blocks(target: Target, targets: Sequence[Target]) -> Iterator[Block]:
    """What the plugin cost and what it counted; nothing where it was not loaded."""
    pairs = list(plugin_pairs(target))
    if pairs:
        yield Text(f"{_verdict(pairs)} {sentence('plugin')}{_starts(list(start_pairs(target, targets)))}")
        yield _cost_table(target, pairs)
    counted = [cell.plugin for cell in target.published if cell.plugin is not None]
    rows = list(batch_rows(counted))
    if rows:
        yield _count_table(rows)


def _verdict(pairs: list[PluginPair]) -> str:
    cost = plugin_cost(pairs)
    step, rate = _range(cost.step, cost.pairs), _range(cost.rate, cost.pairs)
    if cost.pairs == 1:
        known = "one pair says nothing of the spread between runs"
    elif cost.step.lower > 1.0:
        known = "that is a cost"
    elif cost.step.upper < 1.0:
        known = "that is the difference of two starts, since a plugin makes no step shorter"
    else:
        known = "no cost is shown"
    many = f"{cost.pairs} {'pair' if cost.pairs == 1 else 'pairs'} of cells"
    return (
        f"With specwatch's plugin a step takes {step} of its time without it, {cost.extra_us:+.0f} µs on average "
        f"over {many}: **{known}**. Output tokens per second: {rate}."
    )


def _starts(pairs: Sequence[StartPair]) -> str:
    """How far two starts are apart without the plugin, where another start was measured."""
    if not pairs:
        return ""
    where = " and ".join(dict.fromkeys(pair.other.title for pair in pairs))
    steps, rates = sorted(pair.step for pair in pairs), sorted(pair.rate for pair in pairs)
    return " " + sentence(
        "starts",
        where=where,
        pairs=counted(len(pairs), "cell"),
        step=f"{steps[0]:.3f} to {steps[-1]:.3f}",
        rate=f"{rates[0]:.3f} to {rates[-1]:.3f}",
    )


def _range(found: Range, pairs: int) -> str:
    words = f"{found.value:.4f}"
    return words if pairs == 1 else f"{words} ({found.lower:.4f} to {found.upper:.4f})"


def _cost_table(target: Target, pairs: Sequence[PluginPair]) -> Table:
    rows: list[list[Words]] = [
        [
            target.label(pair.own.engine),
            str(pair.own.head["dataset"]["traffic_class"]),
            pair.own.load,
            pair_words(pair.step, 4),
            pair_words(pair.extra, 0),
            pair_words(pair.rate, 3),
        ]
        for pair in pairs
    ]
    columns = (
        "engine",
        "class",
        "batch",
        "step time, with over without",
        "longer by, µs a step",
        "tok/s, with over without",
    )
    return Table(columns, rows, "What the plugin costs", words=2)


def _count_table(rows: Sequence[BatchRow]) -> Table:
    names = ("requests in the step", "steps", "draft steps", "tau")
    columns = (*names, "per token p50, ms", "per token p99", "gap p50, ms", "gap p99")
    words: list[list[Words]] = [
        [
            "over 128" if row.batch == "+" else f"to {row.batch}",
            f"{row.steps:,.0f}",
            f"{row.drafts:,.0f}",
            "-" if row.length is None else f"{row.length:.2f}",
            *_times(row.token),
            *_times(row.chunk),
        ]
        for row in rows
    ]
    return Table(
        columns, words, "What the plugin counted, by batch of the step (histograms of the page)", folded=True
    )


def _times(found: Latency) -> list[Words]:
    return [_milli(found.p50), _milli(found.p99)]


def _milli(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.1f}"
