"""Estimators of the design effect against traffic whose design effect is known."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Q, Traffic, expected
from specwatch_detectors import chain
from specwatch_detectors.design_effect import (
    FLOOR,
    LEAST_BATCHES,
    PRIOR,
    PRIOR_INTERVALS,
    SAFETY,
    SPANS,
    BatchMeans,
    design_effect,
    from_requests,
    kish,
)
from specwatch_detectors.window import NOTHING, Window, window

VARIANCE = 0.7 * 0.3


@pytest.mark.parametrize("rho", [0.02, 0.1])
def test_batch_means_find_the_design_effect_of_beta_binomial_requests(rho: float) -> None:
    traffic, spread = Traffic(7, requests=20, rho=rho), BatchMeans()
    for _ in range(2000):
        spread.update(traffic.interval())
    found = spread.estimate(VARIANCE)
    assert found is not None
    assert 0.85 * traffic.design < found < 1.8 * traffic.design


@pytest.mark.parametrize("rho", [0.02, 0.1, 0.3])
def test_request_records_find_it_directly(rho: float) -> None:
    traffic = Traffic(11, requests=4000, rho=rho)
    found = from_requests(traffic.by_request(), VARIANCE)
    assert found == pytest.approx(traffic.design, rel=0.15)
    assert kish(rho, 25) == pytest.approx(traffic.design)


def test_volume_that_swings_does_not_look_like_spread() -> None:
    """Night and day differ a hundredfold; the draft does not."""
    spread = BatchMeans()
    for interval in range(1000):
        spread.update(expected(100.0 if interval // 100 % 2 else 10_000.0))
    assert spread.estimate(chain.variance(Q)) == pytest.approx(0.0, abs=1e-3)


def test_spread_that_lasts_longer_than_an_interval_is_found_by_the_longer_spans() -> None:
    """Acceptance wanders over 30 intervals: what one interval shows is far too little."""
    source, spread, short = random.Random(3), BatchMeans(), 0.0
    values: list[float] = []
    for interval in range(4000):
        if interval % 30 == 0:
            level = source.gauss(0.7, 0.02)
        values.append(source.gauss(1000 * level, (1000 * VARIANCE) ** 0.5))
        spread.update(window(1000, [values[-1]]))
    mean = sum(values) / len(values)
    short = sum((value - mean) ** 2 for value in values) / len(values) / (1000 * VARIANCE)
    found = spread.estimate(VARIANCE)
    assert found is not None
    assert found > 5.0 * short


def test_memory_does_not_grow() -> None:
    traffic, spread = Traffic(5, requests=4), BatchMeans()
    sizes = []
    for interval in range(1, 6001):
        spread.update(traffic.interval())
        if interval % 2000 == 0:
            sizes.append(len(json.dumps([sorted(spread.state()["open"]), sorted(spread.state()["sums"])])))
    assert len(set(sizes)) == 1
    assert all(len(values) == 6 for values in spread.state()["sums"].values())


def test_months_fade() -> None:
    """After many batches the old ones weigh less, so that a change of traffic is noticed at all."""
    spread = BatchMeans()
    for interval in range(12 * 2100):
        spread.update(window(100, [70 + (5 if interval // 12 % 2 else -5)]))
    before = spread.estimate(VARIANCE)
    for _ in range(12 * 4000):
        spread.update(window(100, [70]))
    after = spread.estimate(VARIANCE)
    assert before is not None
    assert after is not None
    assert after < before / 2


def test_nothing_is_claimed_from_a_few_batches() -> None:
    spread = BatchMeans()
    for _ in range(min(SPANS) * LEAST_BATCHES - 1):
        spread.update(window(100, [70]))
    assert spread.estimate(VARIANCE) is None
    spread.update(window(100, [70]))
    assert spread.estimate(VARIANCE) == 0.0
    assert spread.estimate(0.0) is None


def test_intervals_without_drafts_are_left_out() -> None:
    spread = BatchMeans()
    spread.update(NOTHING)
    assert spread.intervals == 0


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1)), max_size=60), st.integers(0, 60))
def test_state_gives_the_same_future(seen: list[tuple[float, float]], cut: int) -> None:
    whole, first = BatchMeans(), BatchMeans()
    windows = [Window(drafts, accepted_tokens=drafts * share) for drafts, share in seen]
    for each in windows[:cut]:
        first.update(each)
    second = BatchMeans(json.loads(json.dumps(first.state())))
    for each in windows[cut:]:
        second.update(each)
    for each in windows:
        whole.update(each)
    assert second.state() == whole.state()


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1)), min_size=100, max_size=200))
def test_no_volume_breaks_it(seen: list[tuple[float, float]]) -> None:
    spread = BatchMeans()
    for drafts, share in seen:
        spread.update(Window(drafts, accepted_tokens=drafts * share))
    found = spread.estimate(VARIANCE)
    assert found is None or found >= 0.0


def test_a_runaway_generation_does_not_set_the_estimate() -> None:
    ordinary = Traffic(13, requests=500).by_request()
    without = from_requests(ordinary, VARIANCE)
    capped = from_requests([*ordinary, (200_000, 20_000)], VARIANCE)
    assert without is not None
    assert capped is not None
    assert capped < without + 40  # uncapped it would be thousands


@pytest.mark.parametrize("requests", [[], [(25, 17)] * 29, [(0, 0)] * 100])
def test_few_requests_tell_nothing(requests: list[tuple[float, float]]) -> None:
    assert from_requests(requests, VARIANCE) is None


@pytest.mark.parametrize(
    ("estimates", "intervals", "expected_design"),
    [
        ([], 0, SAFETY * PRIOR),
        ([3.0], PRIOR_INTERVALS - 1, SAFETY * PRIOR),
        ([50.0], 10, SAFETY * 50.0),
        ([3.0, 8.0, None], PRIOR_INTERVALS, SAFETY * 8.0),
        ([0.1], PRIOR_INTERVALS, FLOOR),
        ([None, float("nan"), float("inf")], PRIOR_INTERVALS, SAFETY * PRIOR),
    ],
)
def test_the_largest_wins_over_floor_and_prior(
    estimates: list[float | None], intervals: int, expected_design: float
) -> None:
    assert design_effect(estimates, intervals) == pytest.approx(expected_design)
