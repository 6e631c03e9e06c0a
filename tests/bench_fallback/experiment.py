"""All contenders through all months, months in parallel."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from bench_fallback.clairvoyant import Clairvoyant
from bench_fallback.contender import Contender
from bench_fallback.fixed_rules import FixedThreshold, Nothing, OneWayGate
from bench_fallback.lever import LEVERS, Lever
from bench_fallback.month_run import run_month
from bench_fallback.ours import Ours
from bench_fallback.plan import Plan
from bench_fallback.score import Score, score
from bench_fallback.sensors import Sensors
from bench_fallback.steps import NGRAM, PROFILE
from bench_fallback.world import World, make_world
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.payoff.profile_file import load_profile

Scores = dict[tuple[str, str], Score]
"""By lever and contender."""

DEFAULTS: Final = FallbackSettings()
SWEEP: Final[Mapping[str, FallbackSettings]] = {
    "longest wait 30 min": replace(DEFAULTS, probe_most_s=1800.0),
    "longest wait 6 h": replace(DEFAULTS, probe_most_s=21_600.0),
    "one paying probe": replace(DEFAULTS, probe_wins=1),
    "8 switches a day": replace(DEFAULTS, flips_per_day=8),
    "least stay 5 min": replace(DEFAULTS, dwell_s=300.0),
    "margin 6 %": replace(DEFAULTS, margin=0.06),
}
LONG_RUN: Final = "bounds by the drift test's design effect"


def contenders(world: World, lever: Lever, plan: Plan, *, first: bool) -> Sequence[Contender]:
    """Who runs under a lever; those that need none only under the first."""
    free: list[Contender] = [Nothing(), OneWayGate()] if first else []
    found: list[Contender] = [*free, FixedThreshold(lever), FixedThreshold(lever, NGRAM), Ours(lever)]
    found.append(Clairvoyant.of(world, lever))
    if plan.sweep and first:
        found += [Ours(lever, rules, name=name) for name, rules in SWEEP.items()]
        found.append(Ours(lever, name=LONG_RUN, sensors=Sensors(load_profile(PROFILE), local=False)))
    return found


def run_seed(seed: int, plan: Plan) -> Scores:
    """All contenders through one month."""
    world, found = make_world(seed, plan.days), {}
    for number, name in enumerate(plan.levers):
        for each in contenders(world, LEVERS[name], plan, first=number == 0):
            found[name, each.name] = score(world, run_month(world, each, seed))
    return found


def run(plan: Plan, processes: int, say: Callable[[str], None]) -> list[Scores]:
    """Every month's figures.

    Args:
        plan: how much.
        processes: to run months in.
        say: told how far it is.
    """
    seeds = range(1, plan.seeds + 1)
    found: list[Scores] = []
    with multiprocessing.get_context("spawn").Pool(min(processes, plan.seeds)) as pool:
        for each in pool.imap(partial(run_seed, plan=plan), seeds):
            found.append(each)
            say(f"month {len(found)} of {plan.seeds}")
    return found
