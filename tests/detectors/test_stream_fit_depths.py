"""The fit to a history in which drafts change their depth: no spread and no change of level comes of it."""

from __future__ import annotations

import random

import pytest

from detectors.drafting import Q, expected
from specwatch_detectors.stream_fit import StreamFit, Timed, fit
from specwatch_detectors.window import window

STEP = 60.0
DAYS = 3


def history(*depths: int, factor: float = 1.0) -> Timed:
    """Half a day at each depth in turn, and in the second half of all `factor` times the acceptance."""
    source, found = random.Random(2), []
    many = round(DAYS * 86_400 / STEP)
    for at in range(many):
        depth = depths[at // 720 % len(depths)]
        level = (1.0 + source.gauss(0.0, 0.03)) * (factor if at > many // 2 else 1.0)
        found.append((at * STEP, expected(5000, Q[:depth], level)))
    return found


def fitted(timed: Timed) -> StreamFit:
    found = fit(timed, 3, STEP)
    assert found is not None
    return found


@pytest.mark.parametrize("depths", [(3, 2), (3, 1), (1, 2, 3)])
def test_another_depth_is_neither_spread_nor_a_change_of_level(depths: tuple[int, ...]) -> None:
    constant, found = fitted(history(3)), fitted(history(*depths))
    assert found.design < 2.0 * constant.design
    assert found.step is not None
    assert not found.step.real


def test_a_change_of_level_is_still_found() -> None:
    step = fitted(history(3, 2, factor=0.9)).step
    assert step is not None
    assert step.real
    assert step.share == pytest.approx(-0.15, abs=0.06)


def test_drafts_counted_by_position_are_fitted_too() -> None:
    timed = []
    for at in range(2000):
        share = at % 10 / 10
        p = (0.7, 0.7 * 0.66 * share, 0.7 * 0.66 * 0.64 * share)
        timed.append(
            (at * STEP, window(5000, [5000 * one for one in p], drafted=[5000, 5000 * share, 5000 * share]))
        )
    assert fitted(timed).design == 1.0
