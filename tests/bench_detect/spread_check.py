"""Design effects of the simulated traffic against those measured on public per-token traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench_detect.demand import Habits
from bench_detect.simulator import Counts, simulate_day
from bench_detect.traffic_class import ALIKE, CHAT, MATH, TrafficClass
from specwatch_detectors import chain

LONG: Final = 60
"""Scrapes of a long batch: ten minutes, past the longest request."""


@dataclass(frozen=True)
class Spread:
    """One kind of traffic on busy pods.

    Attributes:
        name: of the traffic.
        slots: all busy.
        scrape: simulated design effect of single scrapes.
        long: simulated design effect of ten minutes.
        traces: the same two, measured on replayed traces (Llama-3.1-8B, EAGLE, k=3; arXiv:2601.11580).
    """

    name: str
    slots: int
    scrape: float
    long: float
    traces: tuple[float, float]


KINDS: Final[Sequence[tuple[str, tuple[TrafficClass, ...], int, tuple[float, float]]]] = (
    ("math only (gsm8k)", (MATH,), 1, (2.0, 1.9)),
    ("math only (gsm8k)", (MATH,), 16, (2.0, 2.5)),
    ("chat only", (CHAT,), 1, (40.0, 40.0)),
    ("chat only", (CHAT,), 16, (40.0, 42.0)),
    ("mix of four", ALIKE, 1, (30.0, 42.0)),
    ("mix of four", ALIKE, 16, (26.0, 41.0)),
)


def measure(seed: int, days: int) -> list[Spread]:
    """Simulate busy pods of each kind."""
    found = []
    for name, classes, slots, traces in KINDS:
        counts = [
            simulate_day((seed, slots, day), classes, slots, habits=Habits(even=True)).counts.sum(axis=1)
            for day in range(days)
        ]
        whole = np.concatenate(counts)
        found.append(Spread(name, slots, design_effect(whole, 1), design_effect(whole, LONG), traces))
    return found


def design_effect(counts: Counts, span: int) -> float:
    """Variance of accepted tokens over spans of scrapes, relative to independent drafts.

    Args:
        counts: by scrape, and drafts, s_1, ...
        span: scrapes of a batch.
    """
    drafts, accepted = counts[:, 0].astype(float), counts[:, 1:].sum(axis=1).astype(float)
    tried = counts[:, :-1].sum(axis=0)
    variance = chain.variance((counts[:, 1:].sum(axis=0) / tried).tolist())
    whole = len(counts) // span * span
    gap = (accepted - accepted.sum() / drafts.sum() * drafts)[:whole].reshape(-1, span).sum(axis=1)
    return float((gap**2).mean() / (drafts[:whole].reshape(-1, span).sum(axis=1).mean() * variance))
