"""One contender through one month."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from bench_fallback.contender import Contender, Kind, Order, Seen, View
from bench_fallback.fleet import Fleet, Served
from bench_fallback.kind import DEPTH, OUTPUT_TOKENS
from bench_fallback.plan import PODS, ROUND_TICKS, TICK_S
from bench_fallback.steps import DRAFT, LEVELS, OFF, Floats
from bench_fallback.world import World

CLUMPING: Final = 8.0
"""Variance of accepted counts over that of independent drafts: drafts of one request hang together."""

Row = tuple[float, float, float]


@dataclass
class Log:
    """What happened, by tick.

    Attributes:
        offered: requests that came, levels x ticks.
        refused: of them, refused.
        step_s: time between two steps of a request, levels x ticks.
        wait_s: wait of those that came, levels x ticks.
        queue: that wait, levels x ticks.
        served: requests, levels x ticks.
        share: of the pods, levels x ticks.
        events: time, order.
        lost_out_s: capacity seconds that changing pods were out.
    """

    offered: Floats
    refused: Floats
    step_s: Floats
    wait_s: Floats
    queue: Floats
    served: Floats
    share: Floats
    events: list[tuple[float, Order]] = field(default_factory=list)
    lost_out_s: float = 0.0

    @classmethod
    def empty(cls, ticks: int) -> Log:
        """Of that many ticks."""
        first, *others = (np.zeros((len(LEVELS), ticks)) for _ in range(7))
        return cls(first, others[0], others[1], others[2], others[3], others[4], others[5])

    def put(self, tick: int, served: list[Served | None], pods: list[int]) -> None:
        """One tick."""
        for level, each in enumerate(served):
            if each is not None:
                self.offered[level, tick] = each.offered
                self.refused[level, tick] = each.refused
                self.step_s[level, tick] = each.step_s
                self.wait_s[level, tick] = each.wait_s
                self.queue[level, tick] = each.queue
                self.served[level, tick] = each.requests
                self.share[level, tick] = pods[level] / PODS


@dataclass
class _Truth:
    """The world as lists, which a loop reads fastest."""

    arrivals: list[float]
    steps: list[Row]
    draft_rows: list[Row]
    other_rows: tuple[Row, Row]
    rollout: list[bool]
    chain: tuple[list[list[float]], list[list[float]]]

    @classmethod
    def of(cls, world: World) -> _Truth:
        steps = np.stack([world.steps_per_request(level) for level in range(len(LEVELS))], axis=1)
        ngram, plain = (_row(world.steps.table[level].tolist()) for level in (1, 2))
        return cls(
            world.demand.arrivals.tolist(),
            [_row(row) for row in steps.tolist()],
            [_row(row) for row in world.table(DRAFT).tolist()],
            (ngram, plain),
            world.rollout.tolist(),
            (
                world.chain[0][ROUND_TICKS - 1 :: ROUND_TICKS].tolist(),
                world.chain[1][ROUND_TICKS - 1 :: ROUND_TICKS].tolist(),
            ),
        )


def _row(values: list[float]) -> Row:
    first, middle, last = values
    return first, middle, last


def run_month(world: World, contender: Contender, seed: int) -> Log:
    """Run a contender through a month.

    Args:
        world: the truth.
        contender: who decides.
        seed: of the noise in what is counted.
    """
    truth, log = _Truth.of(world), Log.empty(world.ticks)
    fleet = Fleet(contender.lever, world.steps.prefill)
    rng = np.random.default_rng([seed, 3])
    recent: list[list[Served | None]] = []
    for tick in range(world.ticks):
        now = float((tick + 1) * TICK_S)
        fleet.advance(now - TICK_S)
        rows = (truth.draft_rows[tick], *truth.other_rows)
        served = fleet.tick(truth.arrivals[tick], truth.steps[tick], rows, rollout=truth.rollout[tick])
        log.put(tick, served, fleet.pods)
        recent.append(served)
        if len(recent) == ROUND_TICKS:
            _decide(contender, fleet, log, _view(world, tick, now, recent, fleet, truth, rng))
            recent = []
    log.lost_out_s = fleet.lost_out_s
    return log


def _decide(contender: Contender, fleet: Fleet, log: Log, view: View) -> None:
    order = contender.round(view, fleet)
    if order is None:
        return
    log.events.append((view.now, order))
    if order.kind is Kind.MOVE:
        fleet.move(order.level, view.now, staged=order.staged)
    elif order.kind is Kind.PROBE:
        fleet.probe(view.now)
    elif fleet.probing:  # the probe ends, or the policy latches in it
        fleet.end_probe(view.now)


def _view(
    world: World,
    tick: int,
    now: float,
    recent: list[list[Served | None]],
    fleet: Fleet,
    truth: _Truth,
    rng: np.random.Generator,
) -> View:
    seen = tuple(_seen(world, tick, level, recent, fleet, truth, rng) for level in range(len(LEVELS)))
    return View(
        now,
        tick,
        seen,
        outage=bool(world.outage[tick]),
        rollout=truth.rollout[tick],
        adapts=bool(world.adapts[tick]),
        revision=int(world.revision[tick]),
    )


def _seen(
    world: World,
    tick: int,
    level: int,
    recent: list[list[Served | None]],
    fleet: Fleet,
    truth: _Truth,
    rng: np.random.Generator,
) -> Seen | None:
    """Counts of one level over the round."""
    found = [each[level] for each in recent]
    ticks = [each for each in found if each is not None]
    if not ticks or not fleet.pods[level]:
        return None
    requests = sum(each.requests for each in ticks)
    steps = requests * truth.steps[tick][level]
    batch = sum(each.batch for each in ticks) / len(ticks)
    prompt = sum(each.prompt for each in ticks) / len(ticks) / OUTPUT_TOKENS
    if level == OFF:
        return Seen(0.0, (), steps, requests, batch, prompt, fleet.pods[level])
    drafts = steps * float(world.coverage[tick]) if level == DRAFT else steps
    accepted = _accepted(drafts, truth.chain[level][tick // ROUND_TICKS], rng)
    return Seen(drafts, accepted, steps, requests, batch, prompt, fleet.pods[level])


def _accepted(drafts: float, chain: list[float], rng: np.random.Generator) -> tuple[float, ...]:
    """Accepted counts by position: a chain of binomials, wider by the clumping, as normal variables."""
    tried, before, counts = drafts, 1.0, []
    noise = rng.normal(size=DEPTH).tolist()
    for kept, each in zip(chain, noise, strict=True):
        chance = kept / before if before > 0.0 else 0.0
        spread = (CLUMPING * tried * chance * (1.0 - chance)) ** 0.5
        tried = min(tried, max(0.0, tried * chance + spread * each))
        counts.append(tried)
        before = kept
    return tuple(counts)
