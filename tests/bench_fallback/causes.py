"""Where a contender lost capacity: the same seconds as its whole loss, by what kept it from the best level."""

from __future__ import annotations

from typing import Final

import numpy as np

from bench_fallback.contender import Kind
from bench_fallback.month_run import Log
from bench_fallback.plan import TICK_S
from bench_fallback.steps import DRAFT, Floats
from bench_fallback.world import Flags, World

CAUSES: Final = (
    "advice only: the engine adapts",
    "a rollout or an outage forbade it",
    "before leaving a draft that lost",
    "latched",
    "before coming home to one that paid",
    "on the wrong fallback",
    "probes and movements",
)
"""In this order: a second counts for the first that holds."""


def losses(world: World, log: Log) -> dict[str, float]:
    """Capacity seconds lost, by cause."""
    short: Floats = (1.0 - world.speedup / world.speedup.max(axis=0)) * TICK_S
    level = log.share.argmax(axis=0)
    ticks = np.arange(world.ticks)
    here = short[level, ticks]
    lost = (short * log.share).sum(axis=0)
    home, wrong = level == DRAFT, here > 0.0
    pays = world.speedup.argmax(axis=0) == DRAFT
    holds = (
        home & wrong & world.adapts,
        home & wrong & (world.rollout | world.outage),
        home & wrong,
        ~home & pays & _latched(log, world.ticks),
        ~home & pays,
        ~home & wrong,
    )
    found, left = {}, np.ones(world.ticks, dtype=bool)
    for name, each in zip(CAUSES, holds, strict=False):
        found[name] = float(lost[each & left].sum())
        left &= ~each
    found[CAUSES[-1]] = float(lost[left].sum()) + log.lost_out_s
    return found


def _latched(log: Log, ticks: int) -> Flags:
    """From a latch to the next movement or probe."""
    flags = np.zeros(ticks, dtype=bool)
    since: float | None = None
    for at, order in [*log.events, (ticks * float(TICK_S), None)]:
        if since is not None and (order is None or order.kind in {Kind.MOVE, Kind.PROBE}):
            flags[int(since / TICK_S) : int(at / TICK_S)] = True
            since = None
        if order is not None and order.kind is Kind.LATCH:
            since = at
    return flags
