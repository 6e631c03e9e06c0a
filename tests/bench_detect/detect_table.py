"""The result as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench_detect.detect_aims import judge
from bench_detect.experiment import Column
from bench_detect.ours import BY_CLASS, TOTAL
from bench_detect.outcome import Bound, Outcome
from bench_detect.plan import HORIZON, LEAD, RATIOS, Plan
from bench_detect.pod_run import LORDEN_CLASS, LORDEN_TOTAL, OPTIMUM_CLASS, OPTIMUM_TOTAL
from bench_detect.spread_check import Spread
from bench_detect.update_cost import Cost
from bench_proxy.aims import reached_word

ORDER = (LORDEN_TOTAL, OPTIMUM_TOTAL, TOTAL, LORDEN_CLASS, OPTIMUM_CLASS, BY_CLASS)


@dataclass(frozen=True)
class Results:
    """All that was found.

    Attributes:
        plan: how much was run.
        columns: by size of pod.
        stresses: false pages on hard traffic, by name.
        spreads: design effects of the simulator.
        costs: of updates.
        problems: what could not be done.
    """

    plan: Plan
    columns: Sequence[Column]
    stresses: Mapping[str, Sequence[Column]]
    spreads: Sequence[Spread]
    costs: Sequence[Cost]
    problems: Sequence[str]


def report(results: Results) -> str:
    """All of it as Markdown."""
    parts = [
        _conditions(results),
        _main_table(results.columns),
        _settings(results.columns),
        _stress_table(results),
        _spread_table(results),
        _cost_table(results.costs),
        _aims_table(results),
        list(results.problems),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _conditions(results: Results) -> list[str]:
    plan = results.plan
    tried = plan.pods * plan.trials
    return [
        f"{plan.pods} simulated pods of each size, each calibrated on {plan.history} days of its own, then frozen:",
        f"{plan.pods * plan.days} pod-days without a change, {tried} changes of each size of drop.",
        "Delays: scrapes of 10 s from the change to the page, mean (median); a change that is not found",
        f"in {HORIZON} scrapes is missed. Ours begin {LEAD} scrapes before a change, river's a day and more.",
        "False pages in 30 days: with the exact 95 % bounds of a Poisson count.",
    ]


def _main_table(columns: Sequence[Column]) -> list[str]:
    drops = " | ".join(f"x {ratio:g}" for ratio in RATIOS)
    lines = [f"| slots | detector | false pages in 30 days | {drops} |", "|---" * (3 + len(RATIOS)) + "|"]
    for column in columns:
        rest = [name for name in column.outcomes if name not in ORDER]
        for name in (*ORDER, *rest):
            cells = " | ".join(_cells(column, name))
            lines.append(f"| {column.slots} | {name} | {cells} |")
    return lines


def _cells(column: Column, name: str) -> list[str]:
    if name in column.bounds:
        return ["1 by definition", *(_least(column.bounds[name], ratio) for ratio in RATIOS)]
    outcome = column.outcomes[name]
    if not outcome.days:
        return [outcome.note, *("" for _ in RATIOS)]
    rate, lower, upper = outcome.rate
    return [f"{rate:,.2g} ({lower:,.2g} to {upper:,.2g})", *(delay_cell(outcome, ratio) for ratio in RATIOS)]


def _least(bound: Bound, ratio: float) -> str:
    value = bound.mean(ratio)
    return "-" if value is None else f"{value:.1f}"


def delay_cell(outcome: Outcome, ratio: float) -> str:
    """Mean (median), and the share of misses if there are any."""
    mean, median, missed = outcome.mean(ratio), outcome.median(ratio), outcome.missed(ratio)
    if mean is None or median is None:
        return "never" if outcome.delays.get(ratio) else "-"
    text = f"{mean:.1f} ({median:g})"
    return text + (f", {missed:.0%} missed" if missed else "")


def _settings(columns: Sequence[Column]) -> list[str]:
    lines = [
        f"- {column.slots} slots, {outcome.name}: {outcome.settings}"
        for column in columns
        for outcome in column.outcomes.values()
        if outcome.name.endswith("tuned") and outcome.settings
    ]
    return ["Settings found by tuning (on pods of other seeds, to the same budget):", "", *lines] if lines else []


def _stress_table(results: Results) -> list[str]:
    if not results.stresses:
        return []
    lines = [
        "| hard traffic, no change | slots | total alone, false pages in 30 days | by class |",
        "|---|---|---|---|",
    ]
    for name, columns in results.stresses.items():
        for column in columns:
            cells = [_rate(column.outcomes[each]) for each in (TOTAL, BY_CLASS)]
            lines.append(f"| {name} | {column.slots} | {' | '.join(cells)} |")
    return lines


def _rate(outcome: Outcome) -> str:
    rate, lower, upper = outcome.rate
    return f"{rate:,.2g} ({lower:,.2g} to {upper:,.2g})"


def _spread_table(results: Results) -> list[str]:
    lines = ["| design effect | slots | simulated: scrape, 10 min | traces: scrape, long |", "|---" * 4 + "|"]
    lines += [
        f"| {each.name}, all slots busy | {each.slots} | {each.scrape:.1f}, {each.long:.1f} |"
        f" {each.traces[0]:g}, {each.traces[1]:g} |"
        for each in results.spreads
    ]
    lines += [f"| calibrated, with daily cycle: {_designs(each)} | {each.slots} | | |" for each in results.columns]
    return lines


def _designs(column: Column) -> str:
    return ", ".join(
        f"{name or 'total'} {min(found):.0f} to {max(found):.0f}" for name, found in column.designs.items()
    )


def _cost_table(costs: Sequence[Cost]) -> list[str]:
    lines = ["| update | microseconds | times a bare loop |", "|---|---|---|"]
    return [*lines, *(f"| {each.name} | {each.microseconds:.2f} | {each.ratio:.0f} |" for each in costs)]


def _aims_table(results: Results) -> list[str]:
    verdicts = judge(results.columns, results.costs)
    rows = [f"| {each.aim} | {each.measured} | {reached_word(each)} |" for each in verdicts]
    return ["| aim | measured | |", "|---|---|---|", *rows]


def report_json(results: Results) -> dict[str, Any]:
    """The same for programs, with every delay."""
    return {
        "plan": asdict(results.plan),
        "columns": [asdict(column) for column in results.columns],
        "stresses": {name: [asdict(each) for each in columns] for name, columns in results.stresses.items()},
        "spreads": [asdict(each) for each in results.spreads],
        "costs": [asdict(each) for each in results.costs],
        "aims": [asdict(verdict) for verdict in judge(results.columns, results.costs)],
        "problems": list(results.problems),
    }
