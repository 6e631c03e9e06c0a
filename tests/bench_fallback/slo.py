"""Share of requests that met both targets, from what the fleet did: analytic tails, tick by tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bench_fallback.kind import PROMPT_TOKENS
from bench_fallback.month_run import Log
from bench_fallback.plan import OBJECTIVE, STRICT_TARGET_S, TOKEN_TARGET_S, TTFT_TARGET_S
from bench_fallback.steps import LEVELS, Floats
from bench_fallback.world import World

LEAST_SPREAD_S: Final = 0.05


@dataclass(frozen=True)
class Slo:
    """Service of one contender.

    Attributes:
        good: share of requests within both targets.
        ttft: within the first.
        token: of those served, within the second.
        strict: as `good`, with the stricter time per token.
        refused: share.
        budget_minutes: error budget burnt, in minutes of total failure: share of bad requests times the month.
        allowed_minutes: what the objective allows.
    """

    good: float
    ttft: float
    token: float
    strict: float
    refused: float
    budget_minutes: float
    allowed_minutes: float


def judge(world: World, log: Log) -> Slo:
    """Judge a month."""
    prompt = 1.0 - _late(world, log)
    served = log.offered - log.refused
    slow, strict = (_all_slow(world, log, target) for target in (TOKEN_TARGET_S, STRICT_TARGET_S))
    total = float(log.offered.sum())
    good = float((served * prompt * (1.0 - slow)).sum()) / total
    minutes = world.days * 1440.0
    return Slo(
        good,
        float((served * prompt).sum()) / total,
        1.0 - float((served * slow).sum() / served.sum()),
        float((served * prompt * (1.0 - strict)).sum()) / total,
        float(log.refused.sum()) / total,
        (1.0 - good) * minutes,
        (1.0 - OBJECTIVE) * minutes,
    )


def _late(world: World, log: Log) -> Floats:
    """Chance that the first token comes too late: wait in the queue, the prompt and two steps."""
    own = PROMPT_TOKENS * world.steps.prefill + 2.0 * log.step_s
    spread = np.maximum(LEAST_SPREAD_S, log.wait_s / np.sqrt(np.maximum(1.0, log.queue)))
    return normal_below((log.wait_s + own - TTFT_TARGET_S) / spread)


def _all_slow(world: World, log: Log, target: float) -> Floats:
    return np.stack([_slow(world, log, level, target) for level in range(len(LEVELS))])


def _slow(world: World, log: Log, level: int, target: float) -> Floats:
    """Chance that a request's mean time per token is above the target, over all kinds."""
    needed = log.step_s[level][:, None] / target
    tail = normal_below((needed - world.lengths[level]) / world.spreads[level])
    found: Floats = (world.demand.mix * tail).sum(axis=1)
    return found


def normal_below(value: Floats) -> Floats:
    """P(Z < value) of a normal variable (Abramowitz and Stegun 7.1.26; error below 2e-7)."""
    size = np.abs(value) / np.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * size)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * poly * np.exp(-np.minimum(size**2, 700.0))
    found: Floats = np.where(value < 0.0, tail, 1.0 - tail)
    return found
