"""Arrivals of a trace: drawn from a rate that changes with time, or read from a file."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from specwatch_deploy.scale.simulation.simulated_request import SimulatedRequest

Rate = Callable[[float], float]
OUTPUT_TOKENS: Final = 1024
PROMPT_TOKENS: Final = 512
SPREAD: Final = 0.5
"""Standard deviation of the log of an answer's length: lognormal."""


@dataclass(frozen=True, slots=True)
class Span:
    """From one second to another."""

    start: float
    end: float

    def holds(self, at: float) -> bool:
        """Whether a moment is in it."""
        return self.start <= at < self.end


@dataclass(frozen=True, slots=True)
class Trace:
    """What happens in a simulation.

    Attributes:
        name: short, for tables.
        text: what it is, in one sentence.
        seconds: how long it lasts.
        rate: requests per second over time.
        lengths: acceptance length as a share of the first one: from when on, and how much; oldest first.
        outage: when Prometheus has no data.
        crashes: when the oldest pod dies.
        requests: arrivals of a recorded trace; drawn from `rate` if empty.
    """

    name: str
    text: str
    seconds: float
    rate: Rate
    lengths: tuple[tuple[float, float], ...] = ()
    outage: Span | None = None
    crashes: tuple[float, ...] = ()
    requests: tuple[tuple[float, int, int], ...] = field(default=(), repr=False)

    def without_rate(self) -> Trace:
        """For another process: functions cannot be sent."""
        return replace(self, rate=_no_rate)

    def length_at(self, at: float) -> float:
        """Share of the first acceptance length that holds at a moment."""
        return next((share for start, share in reversed(self.lengths) if start <= at), 1.0)


def _no_rate(at: float) -> float:
    del at
    return 0.0


def arrivals(trace: Trace, seed: int) -> list[SimulatedRequest]:
    """Requests of a trace, in order of arrival: a Poisson process, thinned (Lewis and Shedler 1979)."""
    if trace.requests:
        return [SimulatedRequest(at, prompt, output) for at, prompt, output in trace.requests]
    draw = random.Random(seed)  # noqa: S311 - simulated traffic, no secrets
    most = max(trace.rate(float(second)) for second in range(int(trace.seconds) + 1))
    found, at = [], 0.0
    while most > 0.0:
        at += draw.expovariate(most)
        if at >= trace.seconds:
            break
        if draw.random() * most <= trace.rate(at):
            found.append(SimulatedRequest(at, PROMPT_TOKENS, _tokens(draw)))
    return found


def _tokens(draw: random.Random) -> int:
    """Output tokens with mean `OUTPUT_TOKENS`."""
    return max(8, round(draw.lognormvariate(math.log(OUTPUT_TOKENS) - SPREAD**2 / 2.0, SPREAD)))
