"""Engines that change K, through scraper and sidecar: no page, no blindness, and a worse draft is found."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from detectors.depth_engine import SLOTS_16, DepthEngine, Q, WatchedEngine, split
from specwatch_detectors import chain

LEARNING = 500
RIPE = 900
"""Scrapes until the baseline is good enough for all members of the bank."""
LATER = 360
BLIND = 60
"""Scrapes: a test after a restart gives up after as many."""
MINUTES = 24

Depths = Callable[[int, random.Random, int], Mapping[int, int]]


def constant(depth: int) -> Depths:
    return lambda _, __, drafts: {depth: drafts}


def by_the_half_hour(at: int, _source: random.Random, drafts: int) -> Mapping[int, int]:
    return {5 if at // 180 % 2 == 0 else 2: drafts}


def mixed_at_random(_: int, source: random.Random, drafts: int) -> Mapping[int, int]:
    return split(drafts, source.random(), 5, 2)


def mostly_deep(_: int, source: random.Random, drafts: int) -> Mapping[int, int]:
    return split(drafts, source.uniform(0.8, 1.0), 5, 3)


def three_depths(_: int, source: random.Random, drafts: int) -> Mapping[int, int]:
    return {5: drafts // 3, 1: drafts // 3, source.choice((2, 3, 4)): drafts - 2 * (drafts // 3)}


def off_at_times(at: int, _source: random.Random, drafts: int) -> Mapping[int, int]:
    return {0 if at // 10 % 2 == 0 else 5: drafts}


def run(watched: WatchedEngine, depths: Depths, intervals: int, drafts: int) -> None:
    source = random.Random(len(watched.states))
    for _ in range(intervals):
        watched.step(depths(len(watched.states), source, drafts))


def longest_blind(states: list[tuple[str, str]]) -> int:
    longest = running = 0
    for state, _ in states:
        running = running + 1 if state == "cannot_tell" else 0
        longest = max(longest, running)
    return longest


def scrapes_to_a_page(watched: WatchedEngine, depths: Depths, drafts: int, most: int = 60) -> int:
    for number in range(1, most + 1):
        run(watched, depths, 1, drafts)
        if watched.alarms:
            return number
    return most + 1


@pytest.mark.parametrize("drafted", [False, True], ids=["tokens in total", "tokens by position"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (constant(5), constant(2)),
        (constant(5), constant(4)),
        (constant(5), by_the_half_hour),
        (constant(5), mixed_at_random),
        (constant(5), mostly_deep),
        (constant(2), constant(5)),
        (constant(5), off_at_times),
        (mixed_at_random, mixed_at_random),
        (by_the_half_hour, three_depths),
    ],
)
def test_a_k_that_follows_the_load_pages_nobody_and_blinds_nothing(
    before: Depths, after: Depths, drafted: bool
) -> None:
    watched = WatchedEngine(DepthEngine(3, 5, drafted=drafted))
    run(watched, before, LEARNING, SLOTS_16)
    run(watched, after, LATER, SLOTS_16)
    assert watched.alarms == 0
    assert longest_blind(watched.states) <= BLIND
    assert "drifted" not in {state for state, _ in watched.states}
    watched.engine.factors = (0.8,) * 5
    assert scrapes_to_a_page(watched, after, SLOTS_16) <= MINUTES


@pytest.mark.parametrize(("before", "after"), [(3, 5), (5, 2), (5, 4), (1, 4), (4, 1)])
def test_a_k_changed_by_restart_is_tested_and_watched_on(before: int, after: int) -> None:
    watched = WatchedEngine(DepthEngine(4, before))
    run(watched, constant(before), LEARNING, SLOTS_16)
    watched.engine.restart(watched.now, after)
    run(watched, constant(after), LATER, SLOTS_16)
    assert watched.alarms == 0
    assert longest_blind(watched.states[:LEARNING]) <= BLIND
    assert longest_blind(watched.states[LEARNING:]) <= BLIND
    watched.engine.factors = (0.8,) * 5
    assert scrapes_to_a_page(watched, constant(after), SLOTS_16) <= MINUTES


@pytest.mark.parametrize(("before", "after"), [(3, 5), (5, 2), (5, 5)])
def test_a_restart_with_another_k_and_a_worse_draft_is_paged(before: int, after: int) -> None:
    watched = WatchedEngine(DepthEngine(5, before))
    run(watched, constant(before), LEARNING, SLOTS_16)
    watched.engine.restart(watched.now, after)
    watched.engine.factors = (0.8,) * 5
    assert scrapes_to_a_page(watched, constant(after), SLOTS_16) <= MINUTES


def test_positions_that_the_baseline_lacks_are_said_learned_and_then_judged() -> None:
    watched = WatchedEngine(DepthEngine(6, 3))
    run(watched, constant(3), RIPE, SLOTS_16)
    watched.engine.restart(watched.now, 5)
    run(watched, constant(5), BLIND, SLOTS_16)
    state, headline = watched.states[-1]
    assert state == "ok"
    assert "positions 4 to 5 are still being learned" in headline
    assert "over positions 1 to 3" in headline
    assert watched.baseline_length == pytest.approx(1.0 + chain.mean_accepted(Q[:3]), rel=0.02)
    run(watched, constant(5), RIPE, SLOTS_16)
    assert "still being learned" not in watched.states[-1][1]
    assert watched.baseline_length == pytest.approx(1.0 + chain.mean_accepted(Q), rel=0.02)
    watched.engine.factors = (1.0, 1.0, 1.0, 0.8, 0.8)
    assert scrapes_to_a_page(watched, constant(5), SLOTS_16) <= 2 * MINUTES


def test_lengths_of_another_k_are_compared_at_that_k() -> None:
    watched = WatchedEngine(DepthEngine(7, 5))
    run(watched, constant(5), RIPE, SLOTS_16)
    run(watched, constant(2), BLIND, SLOTS_16)
    assert watched.baseline_length == pytest.approx(1.0 + chain.mean_accepted(Q[:2]), rel=0.02)
    state, headline = watched.states[-1]
    assert state == "ok"
    assert f"baseline {watched.baseline_length:.2f}" in headline
    assert headline.endswith("over positions 1 to 2")


def test_drafts_of_depths_that_nobody_counts_are_judged_by_their_first_token_and_it_is_said() -> None:
    watched = WatchedEngine(DepthEngine(8, 5))
    run(watched, constant(5), RIPE, SLOTS_16)
    run(watched, mixed_at_random, BLIND, SLOTS_16)
    state, headline = watched.states[-1]
    assert state == "ok"
    assert "over position 1;" in headline
    assert "of accepted tokens cannot be judged: drafts differ in depth" in headline


@pytest.mark.parametrize("drafts", [0, 1, 7, 60, 1000, 10**6, 10**9])
def test_no_volume_makes_a_varying_k_a_page(drafts: int) -> None:
    watched = WatchedEngine(DepthEngine(9, 5))
    run(watched, constant(5), LEARNING, max(drafts, SLOTS_16))
    run(watched, by_the_half_hour, LATER, drafts)
    run(watched, mixed_at_random, LATER, drafts)
    assert watched.alarms == 0
    run(watched, by_the_half_hour, BLIND, SLOTS_16)
    assert watched.states[-1][0] in {"ok", "watch"}
