from __future__ import annotations

import json

import numpy as np
import pytest

from specwatch_detectors.design_effect import PRIOR, SAFETY, BatchMeans
from specwatch_detectors.payoff.recent_spread import RecentSpread
from specwatch_detectors.window import NOTHING, Window, window

SECONDS = 10.0
Q = 0.6


def counted(rng: np.random.Generator, drafts: float, chance: float, wider: float) -> Window:
    """One position; accepted spreads that many times wider than independent drafts."""
    kept = drafts * chance + rng.normal() * (wider * drafts * chance * (1.0 - chance)) ** 0.5
    return window(drafts, [min(drafts, max(0.0, kept))])


def fed(spread: RecentSpread, chances: list[float], drafts: float, wider: float, seed: int = 1) -> list[Window]:
    rng = np.random.default_rng(seed)
    rows = [counted(rng, drafts, chance, wider) for chance in chances]
    for row in rows:
        spread.update(row, SECONDS)
    return rows


@pytest.mark.parametrize("wider", [2.0, 8.0, 40.0])
def test_what_was_put_in_comes_out(wider: float) -> None:
    found = []
    for seed in range(40):
        spread = RecentSpread(1)
        fed(spread, [Q] * 400, 2000.0, wider, seed)
        found.append(spread.design())
    assert np.mean(found) == pytest.approx(SAFETY * wider, rel=0.2)


def test_hours_of_wander_do_not_count_though_they_do_in_the_long_run() -> None:
    spread, long_run = RecentSpread(1), BatchMeans()
    chances = [Q + 0.05 * float(np.sin(2 * np.pi * n / 2880)) for n in range(8640)]  # a day, a wave of eight hours
    for row in fed(spread, chances, 50_000.0, 8.0):
        long_run.update(row)
    whole = long_run.estimate(Q * (1 - Q))
    assert whole is not None
    assert whole > 1000.0
    assert spread.design(whole) < 3 * SAFETY * 8.0


def test_one_step_of_the_draft_changes_little() -> None:
    steady, stepped = RecentSpread(1), RecentSpread(1)
    fed(steady, [Q] * 200, 50_000.0, 8.0)
    fed(stepped, [Q] * 100 + [0.2] * 100, 50_000.0, 8.0)
    assert stepped.design() < 2.0 * steady.design()


@pytest.mark.parametrize(
    ("known", "expected"), [(None, PRIOR * SAFETY), (10.0, 10.0), (35_000.0, PRIOR * SAFETY), (1.0, 2.0)]
)
def test_at_first_a_smaller_long_run_one_or_the_prior_counts(known: float | None, expected: float) -> None:
    spread = RecentSpread(1)
    fed(spread, [Q] * 12, 1000.0, 8.0)
    assert spread.design(known) == expected


def test_silence_and_another_engine_break_the_row() -> None:
    spread = RecentSpread(1)
    for _ in range(100):
        spread.update(window(1000.0, [600.0]), 60.0)
        spread.update(NOTHING, 60.0)
    assert spread.state() == {"found": []}
    for chance in (0.9, 0.1) * 20:
        spread.changed(1)
        spread.update(window(1000.0, [1000.0 * chance]), 60.0)
    assert spread.state() == {"found": []}


def test_engines_without_positions_are_measured_too() -> None:
    with_positions, without = RecentSpread(3), RecentSpread(3)
    rng = np.random.default_rng(1)
    for _ in range(400):
        kept = 2000.0 + float(rng.normal()) * 100.0
        with_positions.update(window(1000.0, [kept * 0.5, kept * 0.3, kept * 0.2]), SECONDS)
        without.update(window(1000.0, accepted_tokens=kept), SECONDS)
    assert without.design() == pytest.approx(with_positions.design(), rel=0.5)


def test_it_goes_on_after_a_restart() -> None:
    spread = RecentSpread(1)
    fed(spread, [Q] * 200, 2000.0, 8.0)
    again = RecentSpread(1, json.loads(json.dumps(spread.state())))
    assert again.design() == spread.design()


@pytest.mark.parametrize("state", [{}, {"found": 3}, {"found": [-1.0]}, {"found": [float("nan")]}])
def test_what_is_no_state_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not the state of a spread"):
        RecentSpread(1, state)
