"""Who knows the future: the schedule of least loss, by dynamic programming on the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench_fallback.contender import Kind, Order, View
from bench_fallback.fleet import Fleet
from bench_fallback.lever import Lever
from bench_fallback.plan import ROUND_S, ROUND_TICKS
from bench_fallback.steps import DRAFT
from bench_fallback.world import World

COLD_SHARE: Final = 0.1
"""Capacity that a cold prefix cache takes, about."""


@dataclass
class Clairvoyant:
    """Follows the best schedule for its lever, whose true price it knows.

    Attributes:
        lever: that moves pods.
        schedule: best level by round.
    """

    lever: Lever
    schedule: NDArray[np.int64]
    name: str = "clairvoyant"
    _level: int = field(default=DRAFT)

    @classmethod
    def of(cls, world: World, lever: Lever) -> Clairvoyant:
        """The one for a month."""
        return cls(lever, best_schedule(world, true_cost(lever)))

    def round(self, view: View, fleet: Fleet) -> Order | None:
        """As the schedule says."""
        wanted = int(self.schedule[min(view.tick // ROUND_TICKS + 1, len(self.schedule) - 1)])
        if wanted == self._level or not fleet.settled:
            return None
        self._level = wanted
        return Order(Kind.MOVE, wanted, "knows what comes")


def true_cost(lever: Lever) -> float:
    """Seconds of the whole capacity that a switch takes: pods out, and cold caches."""
    return lever.out_s + COLD_SHARE * lever.cold_s


def best_schedule(world: World, cost: float) -> NDArray[np.int64]:
    """Level by round with the least loss of capacity, each switch at `cost` (Viterbi, from the drafter)."""
    best = world.speedup.max(axis=0)
    lost = ((1.0 - world.speedup / best) * ROUND_S).reshape(len(world.speedup), -1, ROUND_TICKS).mean(axis=2)
    levels, rounds = lost.shape
    total = np.full(levels, np.inf)
    total[DRAFT] = 0.0
    came = np.zeros((rounds, levels), dtype=np.int64)
    for number in range(rounds):
        source = int(total.argmin())
        switched = total[source] + cost < total
        came[number] = np.where(switched, source, np.arange(levels))
        total = np.where(switched, total[source] + cost, total) + lost[:, number]
    schedule = np.empty(rounds, dtype=np.int64)
    level = int(total.argmin())
    for number in range(rounds - 1, -1, -1):
        schedule[number] = level
        level = int(came[number, level])
    return schedule
