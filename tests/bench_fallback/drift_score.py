"""What a contender did about one drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench_fallback.clairvoyant import true_cost
from bench_fallback.contender import Kind
from bench_fallback.incident import Drift
from bench_fallback.lever import LEVERS
from bench_fallback.month_run import Log
from bench_fallback.plan import TICK_S
from bench_fallback.steps import DRAFT
from bench_fallback.world import World

MARGIN: Final = 0.03
"""Speed-ups closer than this are a draw."""


@dataclass(frozen=True)
class DriftScore:
    """One drift.

    Attributes:
        name: of it.
        avoidable_s: capacity seconds that no fallback loses in it, against the best level at every moment.
        harmful: that is more than two switches cost, so it should be left.
        acted_s: from the first harmful moment to the decision to leave; None if it was not left.
        returned_s: from its end to the decision to come home; None if there was nothing to return from.
        lost_s: capacity seconds lost in it and in the day after it.
    """

    name: str
    avoidable_s: float
    harmful: bool
    acted_s: float | None
    returned_s: float | None
    lost_s: float


def levels_by_event(log: Log) -> list[tuple[float, int]]:
    """Time and level of each movement."""
    return [(at, order.level) for at, order in log.events if order.kind is Kind.MOVE]


def level_at(moves: list[tuple[float, int]], time: float) -> int:
    """Level in force."""
    level = DRAFT
    for at, other in moves:
        if at > time:
            break
        level = other
    return level


def score_drift(world: World, log: Log, drift: Drift) -> DriftScore:
    """Judge one drift; it must lie within the month."""
    first, last = int(drift.start / TICK_S), int(drift.end / TICK_S)
    part = world.speedup[:, first:last]
    best = part.max(axis=0)
    lost = 1.0 - part[DRAFT] / best
    avoidable = float(lost.sum()) * TICK_S
    harmful = avoidable > 2.0 * true_cost(LEVERS["pools"]) and bool((lost > MARGIN).any())
    moves = levels_by_event(log)
    acted = returned = None
    if harmful:
        begin = (first + int((lost > MARGIN).argmax())) * float(TICK_S)
        acted = _acted(moves, begin, drift.end)
        if acted is not None and level_at(moves, drift.end) != DRAFT:
            returned = _returned(moves, drift.end)
    after = slice(first, last + 86_400 // TICK_S)
    whole = 1.0 - world.speedup[:, after] / world.speedup[:, after].max(axis=0)
    return DriftScore(
        drift.name, avoidable, harmful, acted, returned, float((whole * log.share[:, after]).sum()) * TICK_S
    )


def _acted(moves: list[tuple[float, int]], begin: float, end: float) -> float | None:
    if level_at(moves, begin) != DRAFT:
        return 0.0
    return next((at - begin for at, level in moves if begin < at <= end and level != DRAFT), None)


def _returned(moves: list[tuple[float, int]], end: float) -> float | None:
    return next((at - end for at, level in moves if at > end and level == DRAFT), None)
