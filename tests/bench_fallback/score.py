"""One contender's month in figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench_fallback.causes import losses
from bench_fallback.contender import Kind
from bench_fallback.drift_score import MARGIN, DriftScore, level_at, levels_by_event, score_drift
from bench_fallback.kind import OUTPUT_TOKENS
from bench_fallback.month_run import Log
from bench_fallback.plan import PODS, ROUND_TICKS, TICK_S
from bench_fallback.slo import judge
from bench_fallback.steps import Floats
from bench_fallback.world import World


@dataclass(frozen=True)
class Score:
    """Figures of one contender in one month.

    Attributes:
        good: share of requests within both targets.
        ttft: share within the first.
        token: share within the second.
        strict: share within both, with the stricter time per token.
        refused: share.
        budget_minutes: error budget burnt.
        budget_allowed: minutes.
        tokens_per_gpu_s: served, over all GPU seconds of the month; what came in limits it.
        capacity: tokens per GPU second that the levels in use give at a full batch, weighted by tokens served.
        lost_s: capacity seconds lost against the best level at every moment, switches included.
        gpu_hours: the same in GPU hours.
        switches: between levels.
        false_switches: to a level that was slower, by more than the margin, than the one left.
        probes: of the drafter.
        latches: somebody had to look.
        lost_in_shift_s: capacity seconds lost during the mix shift, in which the draft is what it was.
        causes: capacity seconds lost, by cause; together `lost_s`.
        drifts: one by one.
        missed: harmful drifts that were not left.
    """

    good: float
    ttft: float
    token: float
    strict: float
    refused: float
    budget_minutes: float
    budget_allowed: float
    tokens_per_gpu_s: float
    capacity: float
    lost_s: float
    gpu_hours: float
    switches: int
    false_switches: int
    probes: int
    latches: int
    lost_in_shift_s: float
    causes: Mapping[str, float]
    drifts: tuple[DriftScore, ...]
    missed: int


def score(world: World, log: Log) -> Score:
    """Judge a month."""
    slo = judge(world, log)
    lost = lost_seconds(world, log)
    drifts = tuple(score_drift(world, log, each) for each in world.month.drifts if each.end < world.days * 86_400.0)
    tokens = log.served * OUTPUT_TOKENS
    orders = [order.kind for _, order in log.events]
    moves = levels_by_event(log)
    return Score(
        slo.good,
        slo.ttft,
        slo.token,
        slo.strict,
        slo.refused,
        slo.budget_minutes,
        slo.allowed_minutes,
        float(tokens.sum()) / (world.ticks * TICK_S * PODS),
        float(tokens.sum() / (tokens / world.full_rate).sum()),
        lost,
        lost * PODS / 3600.0,
        len(moves),
        _false(world, moves),
        orders.count(Kind.PROBE),
        orders.count(Kind.LATCH),
        _lost_in_shift(world, log),
        losses(world, log),
        drifts,
        sum(1 for each in drifts if each.harmful and each.acted_s is None),
    )


def lost_seconds(world: World, log: Log) -> float:
    """Seconds of the whole capacity lost against the best level at every moment."""
    short: Floats = 1.0 - world.speedup / world.speedup.max(axis=0)
    return float((short * log.share).sum()) * TICK_S + log.lost_out_s


def _lost_in_shift(world: World, log: Log) -> float:
    shift = world.month.mix_shift
    part = slice(int(shift.start / TICK_S), int(shift.end / TICK_S))
    short: Floats = 1.0 - world.speedup[:, part] / world.speedup[:, part].max(axis=0)
    return float((short * log.share[:, part]).sum()) * TICK_S


def _false(world: World, moves: Sequence[tuple[float, int]]) -> int:
    found = 0
    for at, level in moves:
        tick = min(world.ticks - 1, int(at / TICK_S) + ROUND_TICKS)  # pods move in the round that follows
        before = level_at(list(moves), at - 1.0)
        there, here = world.speedup[level, tick], world.speedup[before, tick]
        found += bool(there < (1.0 - MARGIN) * here)
    return found
