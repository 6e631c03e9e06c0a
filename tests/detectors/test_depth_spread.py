"""Spread of traffic whose drafts change their depth: that of the requests, not that of the depth."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Q, expected
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.depth_spread import DepthSpread
from specwatch_detectors.window import NOTHING, Window, window

KNOWN = Baseline(expected(1e7))
DEPTHS = st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 1e9)), max_size=80)


def seen(depth: int, drafts: float = 5000.0, factor: float = 1.0) -> Window:
    return expected(drafts, Q[:depth], factor) if depth else NOTHING


def test_another_depth_is_no_spread() -> None:
    spread = DepthSpread()
    for at in range(2000):
        spread.update(seen(1 + at // 100 % 3))
    assert spread.estimate(KNOWN, 3) == pytest.approx(0.0, abs=1e-3)
    assert spread.intervals == 2000


@pytest.mark.parametrize("depths", [(3,), (2,), (1, 3)])
def test_the_spread_of_requests_is_found_at_any_depth(depths: tuple[int, ...]) -> None:
    source, spread = random.Random(4), DepthSpread()
    for at in range(4000):
        factor = 1.0 + source.gauss(0.0, 0.03)
        spread.update(seen(depths[at // 50 % len(depths)], factor=factor))
    found = spread.estimate(KNOWN, 3)
    assert found is not None
    assert 5.0 < found < 40.0


def test_drafts_counted_by_position_are_measured_over_those_that_all_had() -> None:
    spread = DepthSpread()
    for at in range(500):
        share = at % 10 / 10
        p = (0.7, 0.7 * 0.66 * share, 0.7 * 0.66 * 0.64 * share)
        spread.update(window(5000, [5000 * value for value in p], drafted=[5000, 5000 * share, 5000 * share]))
    assert spread.estimate(KNOWN, 3) == pytest.approx(0.0, abs=1e-3)


def test_without_positions_all_accepted_tokens_count() -> None:
    spread = DepthSpread()
    for at in range(500):
        spread.update(Window(1000, accepted_tokens=1500.0 + (50.0 if at // 12 % 2 else -50.0)))
    found = spread.estimate(Baseline(Window(1e6, accepted_tokens=1.5e6)), 3)
    assert found is not None
    assert found > 10.0


@given(DEPTHS, st.integers(0, 80))
def test_state_gives_the_same_future(parts: list[tuple[int, float]], cut: int) -> None:
    whole, first = DepthSpread(), DepthSpread()
    windows = [seen(depth, drafts) for depth, drafts in parts]
    for each in windows[:cut]:
        first.update(each)
    second = DepthSpread(json.loads(json.dumps(first.state())))
    for each in windows[cut:]:
        second.update(each)
    for each in windows:
        whole.update(each)
    assert second.state() == whole.state()
    assert second.by_span(KNOWN, 3) == whole.by_span(KNOWN, 3)
