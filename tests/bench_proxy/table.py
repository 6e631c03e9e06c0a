"""The result as Markdown: one table, its conditions above it, the aims under it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict

from bench_proxy.aims import Verdict, aims_table, judge
from bench_proxy.conditions import Conditions
from bench_proxy.entry import Entry
from bench_proxy.measures import MEASURES, Measure, is_saturated, values
from bench_proxy.plan import ALONE, FLOOD, MEMORY, PACED, SMALL
from bench_proxy.wire import BLOCKS_AHEAD, CHUNKS_A_REPORT

LEGEND = """\
Cells: median over the rounds (smallest to largest). Added: over `direct` in the same round; the column `direct`
shows its own figures. Rates for one core: what a proxy passes on per second of its processor time. †: its core was
not full, because stub and load generator were the limit; for `direct` the cell is that limit."""


def loads() -> str:
    """What the phases do, with the numbers of the plan."""
    under_way = CHUNKS_A_REPORT["flood"] * BLOCKS_AHEAD["flood"]
    return (
        f"Delays and share: {PACED.connections} streams of {PACED.rate} chunks/s,"
        f" {PACED.connections * PACED.rate // PACED.chunks} new requests/s, {PACED.seconds:g} s a round."
        f"\nOne by one: {ALONE.connections} streams, each chunk sent when the one before has arrived."
        f"\nBack to back: {FLOOD.connections} streams, up to {under_way} chunks of each under way."
        f"\nSmall replies: {SMALL.connections} kept connections."
        f" Memory: {MEMORY.connections} streams of {MEMORY.rate} chunk/s."
    )


def versions(entries: Sequence[Entry]) -> str:
    """What ran."""
    return "Versions: " + ", ".join(f"{entry.name} {entry.version}" for entry in entries if entry.version) + "."


def cell(measure: Measure, entry: Entry, direct: Entry) -> str:
    """One cell: the median and the range, or a dash."""
    found = values(measure, entry, direct)
    if not found:
        return "-"
    text = f"{statistics.median(found):,.{measure.digits}f}"
    if len(found) > 1:
        text += f" ({min(found):,.{measure.digits}f} to {max(found):,.{measure.digits}f})"
    unsaturated = measure.is_rate and entry is not direct and not is_saturated(measure, entry)
    return text + (" †" if unsaturated else "")


def figures_table(entries: Sequence[Entry], direct: Entry) -> list[str]:
    """The lines of the table."""
    lines = ["| | " + " | ".join(entry.name for entry in entries) + " |", "|---" * (len(entries) + 1) + "|"]
    for measure in MEASURES:
        cells = [cell(measure, entry, direct) for entry in entries]
        lines.append(f"| {measure.title} | {' | '.join(cells)} |")
    return lines


def absences(entries: Sequence[Entry]) -> list[str]:
    """A line for every contender that could not take part to the end."""
    return [f"{entry.name}: {entry.reason}" for entry in entries if entry.reason is not None]


def report(entries: Sequence[Entry], conditions: Conditions) -> str:
    """All of it as Markdown; the first entry is `direct`."""
    direct = entries[0]
    parts = [
        conditions.lines(),
        [versions(entries)],
        figures_table(entries, direct),
        absences(entries),
        [LEGEND],
        [loads()],
        aims_table(judge_ours(entries)),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def judge_ours(entries: Sequence[Entry]) -> list[tuple[str, list[Verdict]]]:
    """The aims for every way in which the request sidecar runs here."""
    by_name = {entry.name: entry for entry in entries}
    ours = [entry for entry in entries if entry.name.startswith("specwatch")]
    return [(entry.name, judge(entry, entries[0], by_name)) for entry in ours]


def report_json(entries: Sequence[Entry], conditions: Conditions) -> dict[str, object]:
    """The same for programs, with every round's raw figures."""
    return {
        "conditions": asdict(conditions),
        "contenders": {
            entry.name: {
                "version": entry.version,
                "reason": entry.reason,
                "measures": {measure.title: values(measure, entry, entries[0]) for measure in MEASURES},
                "phases": entry.found,
            }
            for entry in entries
        },
        "aims": {name: [asdict(verdict) for verdict in verdicts] for name, verdicts in judge_ours(entries)},
    }
