"""The traces that ship: made up, one behaviour each."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

from specwatch_deploy.scale.simulation.traffic import Rate, Span, Trace

BASE: Final = 5.0
"""Requests per second; with the shipped step times three pods of 32 slots serve them."""


def _steps(*points: tuple[float, float]) -> Rate:
    """A rate that jumps: (from second, requests per second)."""

    def rate(at: float) -> float:
        return next((value for start, value in reversed(points) if start <= at), points[0][1])

    return rate


def _lines(*points: tuple[float, float]) -> Rate:
    """A rate along straight lines through points."""

    def rate(at: float) -> float:
        if at <= points[0][0]:
            return points[0][1]
        for (left, low), (right, high) in pairwise(points):
            if at <= right:
                return low + (high - low) * (at - left) / (right - left)
        return points[-1][1]

    return rate


def _day(at: float) -> float:
    """A day pressed into two hours: from a third of the height to the height."""
    return 3.0 * BASE * (2.0 / 3.0 - math.cos(2.0 * math.pi * at / 7200.0) / 3.0)


STEP: Final = Trace(
    "step x3",
    "load triples at once for 45 minutes",
    5400.0,
    _steps((0.0, BASE), (900.0, 3.0 * BASE), (3600.0, BASE)),
)
TRACES: Final[tuple[Trace, ...]] = (
    STEP,
    Trace(
        "ramp",
        "load triples within 15 minutes and falls as slowly",
        5400.0,
        _lines((600.0, BASE), (1500.0, 3.0 * BASE), (3000.0, 3.0 * BASE), (3900.0, BASE)),
    ),
    Trace("spike", "load triples for 3 minutes", 3600.0, _steps((0.0, BASE), (900.0, 3.0 * BASE), (1080.0, BASE))),
    Trace("daily cycle", "a day pressed into two hours", 7200.0, _day),
    Trace(
        "drift",
        "acceptance halves at constant load",
        3600.0,
        _steps((0.0, 2.0 * BASE)),
        lengths=((900.0, 1.0 - 0.5 * (2.69 - 1.0) / 2.69),),
    ),
    Trace(
        "Prometheus outage",
        "no data for 15 minutes at the height of the load",
        4500.0,
        _steps((0.0, BASE), (600.0, 3.0 * BASE), (3600.0, BASE)),
        outage=Span(1500.0, 2400.0),
    ),
    Trace(
        "pod crash loop",
        "the oldest pod dies every 3 minutes at constant load",
        3600.0,
        _steps((0.0, 2.5 * BASE)),
        crashes=tuple(900.0 + 180.0 * number for number in range(8)),
    ),
)


def trace_named(name: str) -> Trace | None:
    """A shipped trace, or None."""
    return next((trace for trace in TRACES if trace.name == name), None)
