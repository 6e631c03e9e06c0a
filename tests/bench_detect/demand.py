"""How much a pod has to do over the day: daily cycle, noise, bursts, quiet hours, restarts; no queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench_detect.traffic_class import TrafficClass

SCRAPE_S: Final = 10.0
DAY: Final = 8640
"""Scrapes of a day."""

BLOCK: Final = 36
"""Scrapes over which the mix stays the same: six minutes."""

BLOCKS: Final = DAY // BLOCK

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Demand:
    """One pod's day.

    Attributes:
        active: busy slots by scrape, a fraction counts.
        mix: share of requests by block and class.
        offset: log-odds that a class's requests share (one client's batch), by block and class.
        restarts: scrapes in which the engine came back from a restart.
    """

    active: Floats
    mix: Floats
    offset: Floats
    restarts: tuple[int, ...]


@dataclass(frozen=True)
class Habits:
    """How uneven the demand is.

    Attributes:
        bursts: of one client per day.
        burst_offset: standard deviation of the log-odds that a burst's requests share.
        restarts: per day.
        quiet: load, as a share of the slots, under which nobody asks anything.
        even: no cycle, no bursts, no restarts: all slots busy, as when design effects are measured.
    """

    bursts: float = 6.0
    burst_offset: float = 0.0
    restarts: float = 0.2
    quiet: float = 0.07
    even: bool = False


def demand(rng: np.random.Generator, classes: Sequence[TrafficClass], slots: int, habits: Habits) -> Demand:
    """Draw one day of a pod with that many slots."""
    shares = np.array([each.share for each in classes])
    if habits.even:
        level = np.full(DAY, float(slots))
        return Demand(level, np.tile(shares / shares.sum(), (BLOCKS, 1)), np.zeros((BLOCKS, len(classes))), ())
    load, mix, offset = _cycle(rng), _mix(classes), np.zeros((BLOCKS, len(classes)))
    for _ in range(rng.poisson(habits.bursts)):
        start, length = int(rng.integers(BLOCKS)), 1 + int(rng.poisson(1.0))
        where = slice(start, start + length)
        load[where] = np.minimum(1.0, load[where] + rng.uniform(0.2, 0.7))
        kind = rng.integers(len(classes))
        mix[where] *= 0.5
        mix[where, kind] += 0.5
        offset[where, kind] = rng.normal(0.0, habits.burst_offset)
    active = slots * np.repeat(np.where(load < habits.quiet, 0.0, load), BLOCK)
    active *= np.clip(rng.normal(1.0, 0.1, DAY), 0.5, 1.5)
    back: list[int] = []
    for start in sorted(int(rng.integers(DAY)) for _ in range(rng.poisson(habits.restarts))):
        end = start + int(rng.integers(6, 30))
        active[start:end] = 0.0
        if end < DAY:
            back.append(end)
    return Demand(np.minimum(active, slots), mix, offset, tuple(back))


def _cycle(rng: np.random.Generator) -> Floats:
    """Load by block, a share of the slots: highest at 15 h, near nothing at 3 h, with a slow wander."""
    hours = np.arange(BLOCKS) * 24.0 / BLOCKS
    day = 0.5 + 0.5 * np.cos(2.0 * np.pi * (hours - 15.0) / 24.0)
    wander, steps = np.empty(BLOCKS), rng.normal(0.0, 0.06, BLOCKS)
    value = rng.normal(0.0, 0.15)
    for index, step in enumerate(steps):
        value = 0.9 * value + step
        wander[index] = value
    level: Floats = np.clip((0.03 + 0.82 * day) * np.exp(wander), 0.0, 1.0)
    return level


def _mix(classes: Sequence[TrafficClass]) -> Floats:
    hours = np.arange(BLOCKS)[:, None] * 24.0 / BLOCKS
    peaks = np.array([each.peak for each in classes])
    swings = np.array([each.swing for each in classes])
    shares = np.array([each.share for each in classes])
    weights = shares * np.exp(swings * np.cos(2.0 * np.pi * (hours - peaks) / 24.0))
    mix: Floats = weights / weights.sum(axis=1, keepdims=True)
    return mix
