"""What the detectors are held to, and whether they got there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bench_detect.experiment import Column
from bench_detect.ours import BY_CLASS, TOTAL
from bench_detect.outcome import Outcome
from bench_detect.page_interval import per_month
from bench_detect.pod_run import LORDEN_CLASS, LORDEN_TOTAL
from bench_detect.update_cost import Cost
from bench_proxy.aims import Verdict

PAGES: Final = 1.0
POD_DAYS: Final = 300.0
TIMES_BOUND: Final = 1.5
TIMES_PEER: Final = 10.0
UPDATE_US: Final = 2.0
SMALL: Final = (0.97, 0.95, 0.9)
"""Drops of 3 to 10 %."""

OURS: Final = ((TOTAL, LORDEN_TOTAL), (BY_CLASS, LORDEN_CLASS))


def judge(columns: Sequence[Column], costs: Sequence[Cost]) -> list[Verdict]:
    """All aims."""
    return [
        *[_false_pages(columns, name) for name, _ in OURS],
        *[verdict for name, bound in OURS for verdict in _delays(columns, name, bound)],
        *[verdict for column in columns for verdict in _against_peers(column)],
        *[_cost(cost) for cost in costs if "chain_cusum" in cost.name],
    ]


def _false_pages(columns: Sequence[Column], name: str) -> Verdict:
    pages = sum(column.outcomes[name].pages for column in columns)
    days = sum(column.outcomes[name].days for column in columns)
    rate, _, upper = per_month(pages, days)
    aim = f"{name}: at most {PAGES:g} false page in 30 days per pod, over {POD_DAYS:g} pod-days or more"
    said = f"{rate:.2f} ({pages} in {days:,.0f} pod-days; 95 % bound {upper:.2f})"
    enough = days >= POD_DAYS
    return Verdict(aim, said if enough else f"{said}, too few days", rate <= PAGES if enough else None)


def _delays(columns: Sequence[Column], name: str, bound: str) -> list[Verdict]:
    found = []
    for column in columns:
        ratios = []
        for ratio in SMALL:
            least, own = column.bounds[bound].mean(ratio), column.outcomes[name].mean(ratio)
            if least and own:
                ratios.append((own / least, ratio, own - least))
        worst = max(ratios, default=None)
        if worst is None:
            continue
        said = ", ".join(f"{times:.2f} at {ratio:g}" for times, ratio, _ in ratios)
        over = [extra for times, _, extra in ratios if times > TIMES_BOUND]
        if over:
            said += f" (where over: {min(over):.1f} to {max(over):.1f} scrapes behind the bound)"
        aim = f"{name}, {column.slots} slots: delay at most {TIMES_BOUND:g} times Lorden's bound"
        found.append(Verdict(aim, said, worst[0] <= TIMES_BOUND))
    return found


def keeps(outcome: Outcome) -> bool:
    """Whether a contender's false pages may well be within the budget: the lower bound on their rate is."""
    return outcome.days > 0 and outcome.rate[1] <= PAGES


def best_peer(column: Column, ratio: float) -> Outcome | None:
    """The quickest of river's tuned detectors that keeps the budget and misses at most one change in ten."""
    peers = [
        each
        for name, each in column.outcomes.items()
        if name.startswith("river") and name.endswith("tuned") and keeps(each) and each.missed(ratio) <= 0.1
    ]
    return min(peers, key=lambda each: each.mean(ratio) or float("inf"), default=None)


def _against_peers(column: Column) -> list[Verdict]:
    if not any(name.startswith("river") for name in column.outcomes):
        return []
    said, reached = [], []
    for ratio in SMALL:
        peer, ours = best_peer(column, ratio), column.outcomes[BY_CLASS].mean(ratio)
        total = column.outcomes[TOTAL].mean(ratio)
        least = column.bounds[LORDEN_CLASS].mean(ratio)
        if peer is None or not ours or not total or not least:
            said.append(f"{ratio:g}: no peer keeps the budget and finds it")
            continue
        took = peer.mean(ratio) or float("inf")
        reached.append(took / ours >= TIMES_PEER)
        name = peer.name.removeprefix("river ").removesuffix(", tuned")
        said.append(
            f"{ratio:g}: {took / ours:.1f} by class, {took / total:.1f} by the total"
            f" ({name}; the bound allows {took / least:.1f})"
        )
    aim = f"{column.slots} slots: {TIMES_PEER:g} times as quick as the best tuned peer that keeps the same budget"
    return [Verdict(aim, "; ".join(said), all(reached) if reached else True)]


def _cost(cost: Cost) -> Verdict:
    aim = f"an update of a detector takes about {UPDATE_US:g} microseconds"
    return Verdict(aim, f"{cost.microseconds:.1f} microseconds", cost.microseconds <= 1.5 * UPDATE_US)
