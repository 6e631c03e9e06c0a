"""The bench's tables and its verdict on the aims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specwatch_deploy.scale.simulation.comparison import Comparison, Result
from specwatch_deploy.scale.simulation.comparison_words import HEAD, row, told
from specwatch_deploy.scale.simulation.contenders import SimulationSettings
from specwatch_deploy.scale.simulation.traces import STEP

MOST_RATIO = 1.15
SAME = 0.0005
"""Attainments this close are equal: a dozen requests."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What one window for scaling in costs, and what it gives.

    Attributes:
        window_s: seconds.
        ratios: pod seconds on the step over those of the cheapest plan that attains as much, by seed.
        in_time: share of requests in time, by trace.
    """

    window_s: int
    ratios: tuple[float, ...]
    in_time: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Mean over the seeds."""
        return sum(self.ratios) / len(self.ratios)


def report(
    found: Sequence[Comparison],
    limits: Sequence[Limit],
    seeds: Sequence[int],
    settings: SimulationSettings,
    minutes: float,
) -> str:
    """Markdown; the first of the limits is the window that is shipped."""
    aims = _aims(found, limits[0], seeds)
    parts = [f"Everything here is simulated; took {minutes:.1f} minutes.", aims, _limits(found, limits)]
    return "\n\n".join([*parts, _summary(found), *(_trace(item, settings) for item in found)])


def _aims(found: Sequence[Comparison], shipped: Limit, seeds: Sequence[int]) -> str:
    reached = "reached" if shipped.ratio <= MOST_RATIO else "NOT reached"
    each = ", ".join(f"{ratio:.2f}" for ratio in shipped.ratios)
    worse = [item for item in found if _gap(item) < -SAME]
    first = (
        f"Aim 1, {STEP.name}: at most {MOST_RATIO} times the pod seconds of the cheapest plan that attains as "
        f"much: {shipped.ratio:.2f}, {reached} (seeds {', '.join(map(str, seeds))}: {each})."
    )
    where = f"NOT reached on {', '.join(item.trace.name for item in worse)}" if worse else "reached"
    return f"{first}\nAim 2, never worse attainment than the best other at no more cost: {where}."


def _limits(found: Sequence[Comparison], limits: Sequence[Limit]) -> str:
    """What limits aim 1: pods are kept for the window of scaling in, which the other traces need."""
    names = [item.trace.name for item in found]
    head = ("window for scaling in", f"{STEP.name}: times the plan's", *(f"{name}: in time" for name in names))
    rows = [(f"{one.window_s} s", f"{one.ratio:.2f}", *(f"{share:.2%}" for share in one.in_time)) for one in limits]
    return f"What limits aim 1:\n\n{table(head, rows)}"


def _gap(item: Comparison) -> float:
    best = item.best_peer
    return 1.0 if best is None else item.ours.score.attained - best.score.attained


def _summary(found: Sequence[Comparison]) -> str:
    rows = []
    for item in found:
        score, cost, best = item.ours.score, item.clairvoyant_cost, item.best_peer
        rows.append(
            (
                item.trace.name,
                f"{score.attained:.2%}",
                f"{score.pod_seconds / 3600.0:.2f}",
                "none attains it" if cost is None else f"{score.pod_seconds / cost:.2f}",
                "none" if best is None else f"{best.name}: {best.score.attained:.2%}, {_hours(best)}",
            )
        )
    head = ("trace", "in time", "pod hours", "times the clairvoyant's", "best other at no more cost")
    return table(head, rows)


def _hours(result: Result) -> str:
    return f"{result.score.pod_seconds / 3600.0:.2f} h"


def _trace(item: Comparison, settings: SimulationSettings) -> str:
    results = (item.ours, *item.peers, *item.plans)
    return f"### {item.trace.name}\n\n{told(item, settings)}\n\n{table(HEAD, (row(result) for result in results))}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)])
