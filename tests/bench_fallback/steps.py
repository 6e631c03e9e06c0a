"""Step times of a pod, and the batch that a load leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench_fallback.kind import DEPTH, DRAFTER
from bench_fallback.plan import MOST_BATCH
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.payoff.profile_file import load_profile
from specwatch_detectors.payoff.step_cost import Load, Unknown
from specwatch_detectors.payoff.step_profile import StepProfile

Floats = NDArray[np.float64]

PROFILE: Final = "llama-70b-fp8-h200"
LEVELS: Final = (Level.DRAFT, Level.NGRAM, Level.OFF)
DRAFT, NGRAM, OFF = 0, 1, 2
METHODS: Final = (DRAFTER, "ngram")
SIZES: Final = (1.0, 8.0, float(MOST_BATCH))
ERROR: Final = 0.03
"""Standard deviation of the true step times around the profile's: it is one run each, with dummy weights."""


@dataclass(frozen=True)
class Steps:
    """Seconds of one step at the batch sizes of `SIZES`, by level.

    Attributes:
        table: levels x sizes.
        prefill: seconds per prompt token.
    """

    table: Floats
    prefill: float


def profile_steps(profile: StepProfile) -> Steps:
    """The profile's step times."""
    rows = []
    for method in METHODS:
        costs = [profile.cost_of(method).at(Load(size, float(DEPTH))) for size in SIZES]
        rows.append([0.0 if isinstance(cost, Unknown) else cost.spec_seconds or 0.0 for cost in costs])
    plain = [profile.steps.plain(Load(size, 0.0)) for size in SIZES]
    rows.append([0.0 if isinstance(cost, Unknown) else cost.seconds for cost in plain])
    table = np.array(rows)
    if table.min() <= 0.0:
        raise ValueError(f"profile {profile.name} lacks a step time of {METHODS} or of plain steps at {SIZES}")
    return Steps(table, profile.prefill_seconds_per_token)


def true_steps(rng: np.random.Generator) -> Steps:
    """Step times of the simulated engine: the profile's, each level off by a few percent."""
    told = profile_steps(load_profile(PROFILE))
    return Steps(told.table * np.exp(rng.normal(0.0, ERROR, (len(LEVELS), 1))), told.prefill)


def step_at(batch: float, row: tuple[float, float, float]) -> float:
    """Seconds of a step at a batch size."""
    first, middle, last = row
    if batch <= SIZES[0]:
        return first
    if batch <= SIZES[1]:
        return first + (middle - first) * (batch - SIZES[0]) / (SIZES[1] - SIZES[0])
    return middle + (last - middle) * (min(batch, SIZES[2]) - SIZES[1]) / (SIZES[2] - SIZES[1])


def batch_for(pace: float, row: tuple[float, float, float]) -> float:
    """The batch b at which b / step(b) is this many requests times steps per second; the largest if none is."""
    first, middle, last = row
    if pace * first <= SIZES[0]:
        return pace * first
    if pace * middle <= SIZES[1]:
        slope = (middle - first) / (SIZES[1] - SIZES[0])
        return pace * (first - slope * SIZES[0]) / (1.0 - pace * slope)
    if pace * last <= SIZES[2]:
        slope = (last - middle) / (SIZES[2] - SIZES[1])
        return pace * (middle - slope * SIZES[1]) / (1.0 - pace * slope)
    return SIZES[2]


def steps_at(batch: Floats, table: Floats) -> Floats:
    """Seconds of a step by tick; `table` is ticks x sizes."""
    low = table[:, 0] + (table[:, 1] - table[:, 0]) * (np.clip(batch, 1.0, 8.0) - 1.0) / 7.0
    more = (np.clip(batch, SIZES[1], SIZES[2]) - SIZES[1]) / (SIZES[2] - SIZES[1])
    found: Floats = low + (table[:, 2] - table[:, 1]) * more
    return found
