"""How many requests come, of which kinds, through a month."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bench_fallback.incident import Span
from bench_fallback.kind import HARD_KIND, KINDS
from bench_fallback.plan import DAY_TICKS, PODS, TICK_S
from bench_fallback.steps import Floats

PEAK: Final = 4.7
"""Requests per second and pod at the height of a usual weekday."""

NIGHT: Final = 0.12
WEEKEND: Final = 0.65
BURSTS: Final = 3.0
SHIFTED: Final = 0.8
"""Share of the hard kind during the mix shift."""


@dataclass(frozen=True)
class Demand:
    """Requests by tick.

    Attributes:
        rate: expected requests per second, all pods.
        arrivals: requests that came in the tick: Poisson.
        mix: ticks x kinds, shares of requests.
    """

    rate: Floats
    arrivals: Floats
    mix: Floats


def draw_demand(rng: np.random.Generator, days: int, shift: Span) -> Demand:
    """The demand of one seed."""
    ticks = days * DAY_TICKS
    hours = np.arange(ticks) * TICK_S / 3600.0
    cycle = NIGHT + (1.0 - NIGHT) * (0.5 + 0.5 * np.cos(2.0 * np.pi * (hours - 15.0) / 24.0)) ** 1.3
    week = np.where((hours // 24).astype(int) % 7 >= 5, WEEKEND, 1.0)
    rate = PEAK * PODS * cycle * week * np.exp(wander(rng, ticks, 0.06, 3600.0))
    for _ in range(rng.poisson(BURSTS * days)):
        start, length = int(rng.integers(ticks)), int(rng.exponential(900.0) / TICK_S) + 6
        rate[start : start + length] *= 1.0 + rng.uniform(0.1, 0.4)
    weights = np.array([kind.share for kind in KINDS])
    logs = np.stack([wander(rng, ticks, 0.15, 7200.0) for _ in KINDS], axis=1)
    mix = weights * np.exp(logs)
    mix /= mix.sum(axis=1, keepdims=True)
    where = slice(int(shift.start / TICK_S), int(shift.end / TICK_S))
    mix[where] *= 1.0 - SHIFTED
    mix[where, HARD_KIND] += SHIFTED
    return Demand(rate, rng.poisson(rate * TICK_S).astype(float), mix)


def wander(rng: np.random.Generator, ticks: int, size: float, memory_s: float) -> Floats:
    """A value that wanders around 0 with that standard deviation and memory (Ornstein-Uhlenbeck), by tick.

    Drawn each minute and joined by straight lines.
    """
    every = 60 // TICK_S
    count = ticks // every + 2
    keep = float(np.exp(-60.0 / memory_s))
    noise = rng.normal(0.0, size * np.sqrt(1.0 - keep**2), count)
    value, values = rng.normal(0.0, size), np.empty(count)
    for index in range(count):
        value = keep * value + noise[index]
        values[index] = value
    found: Floats = np.interp(np.arange(ticks) / every, np.arange(count), values)
    return found
