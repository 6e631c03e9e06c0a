"""How much is simulated, and what counts as good service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TICK_S: Final = 10
ROUND_TICKS: Final = 3
"""Ticks of one round: whoever decides does so every 30 s, from the counts of 30 s."""

ROUND_S: Final = TICK_S * ROUND_TICKS
DAY_TICKS: Final = 86_400 // TICK_S
HOUR_TICKS: Final = 3600 // TICK_S

TTFT_TARGET_S: Final = 1.0
TOKEN_TARGET_S: Final = 0.040
"""Mean time per output token of a request: 25 tokens/s, faster than people read."""

STRICT_TARGET_S: Final = 0.030
"""A second, stricter one, reported beside it."""

OBJECTIVE: Final = 0.99
"""Share of requests that must meet both targets; the rest is the error budget."""

PATIENCE_S: Final = 20.0
"""A request that would wait longer is refused, and counts as bad."""

PODS: Final = 20
MOST_BATCH: Final = 32
"""Requests in a pod's batch at most: the largest batch that the shipped step times were measured at."""


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        seeds: months, each with its own traffic, sizes of drift and errors of the profile.
        days: of each.
        levers: names of the levers to compare under.
        sweep: also run ours with other constants.
    """

    seeds: int = 5
    days: int = 30
    levers: tuple[str, ...] = ("pools", "rollout")
    sweep: bool = False


FULL: Final = Plan()
QUICK: Final = Plan(seeds=2, days=10, levers=("pools",))
