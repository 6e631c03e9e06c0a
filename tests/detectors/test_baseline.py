"""Baselines: what they are learned from, how well they are known, and what their file may hold."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors import chain
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.window import Window, window

Q = (0.7, 0.66, 0.64)


def of(q: tuple[float, ...], drafts: float) -> Baseline:
    return Baseline(window(drafts, [drafts * value for value in chain.unconditional(q)]))


def test_learning_adds_up() -> None:
    found = Baseline().learned(window(100, [70, 40])).learned(window(300, [220, 150]))
    assert found.q == pytest.approx((290 / 400, 190 / 290))
    assert found.mean_accepted == pytest.approx(480 / 400)


def test_a_censored_interval_teaches_position_one_only() -> None:
    full, censored = window(100, [70, 35], draft_tokens=200), window(100, [50, 10], draft_tokens=120)
    found = Baseline().learned(full).learned(censored)
    assert found.q == pytest.approx((120 / 200, 35 / 70))


def test_nothing_is_known_before_the_first_draft() -> None:
    found = Baseline()
    assert found.q == ()
    assert found.mean_accepted is None
    assert math.isinf(found.relative_error(2.0))
    assert found.variance(3) == 0.0


def test_relative_error_is_the_standard_error_of_the_mean() -> None:
    assert of(Q, 10_000).relative_error(2.0) == pytest.approx(
        math.sqrt(2.0 * chain.variance(Q) / 10_000) / chain.mean_accepted(Q)
    )


def test_variance_is_the_chains_where_all_drafts_are_of_one_depth() -> None:
    assert of(Q, 1e6).variance(3) == pytest.approx(chain.variance(Q))
    assert Baseline(Window(1e6, accepted_tokens=1.2e6)).variance(3) == pytest.approx(
        chain.variance(chain.geometric(1.2, 3))
    )


def mixed_depths() -> Baseline:
    """Half of the drafts have one token, half have three."""
    return Baseline(of(Q[:1], 1000).counts + of(Q, 1000).counts)


def test_variance_is_that_of_a_draft_of_one_depth_however_many_were_shorter() -> None:
    found = mixed_depths()
    assert found.q == pytest.approx(Q)
    for positions in (1, 2, 3):
        assert found.variance(3, positions) == pytest.approx(chain.variance(Q[:positions]))


def test_relative_error_grows_with_positions_that_were_tried_less() -> None:
    error = mixed_depths().relative_error(2.0)
    assert of(Q, 2000).relative_error(2.0) < error < of(Q, 1000).relative_error(2.0)


def test_positions_known_from_far_fewer_drafts_may_be_left_out() -> None:
    assert of(Q, 1000).prefixes == (3,)
    assert Baseline(of(Q[:1], 1000).counts + of(Q, 500).counts).prefixes == (3, 1)
    assert Baseline(Window(1e6, accepted_tokens=1.2e6)).prefixes == (0,)


def test_the_first_positions_are_a_baseline_of_shorter_drafts() -> None:
    found = of(Q, 1000).first(2)
    assert found.q == pytest.approx(Q[:2])
    assert found.mean_accepted == pytest.approx(chain.mean_accepted(Q[:2]))
    whole = of(Q, 1000)
    assert whole.first(3) is whole


def test_a_shorter_baseline_is_followed_by_what_another_knows_of_further_positions() -> None:
    found = of((0.8, 0.75), 500).followed_by(of(Q, 4000))
    assert found.q == pytest.approx((0.8, 0.75, Q[2]))
    assert found.mean_accepted == pytest.approx(chain.mean_accepted(found.q))
    whole = of(Q, 10)
    assert whole.followed_by(of((0.5,), 1e6)) is whole


@given(st.floats(0.05, 2.9), st.floats(1.0, 1e9))
def test_of_mean_has_that_mean(mean: float, drafts: float) -> None:
    found = Baseline.of_mean(mean, 3, drafts)
    assert found.mean_accepted == pytest.approx(mean)
    assert chain.mean_accepted(found.q) == pytest.approx(mean, rel=1e-3, abs=1e-3)


@given(st.floats(0.0, 1e9), st.lists(st.floats(0.0, 1e9), max_size=8))
def test_json_gives_the_same_back(drafts: float, accepted: list[float]) -> None:
    found = Baseline(window(drafts, accepted))
    assert Baseline.from_json(json.loads(json.dumps(found.as_json()))) == found


GOOD: dict[str, Any] = {"drafts": 10, "accepted": [5], "trials": [10], "accepted_tokens": 5}


@pytest.mark.parametrize(
    "change",
    [
        {"drafts": None},
        {"drafts": -1},
        {"drafts": math.nan},
        {"accepted": [11]},
        {"accepted": [5, 4]},
        {"accepted": 5},
        {"accepted": [math.inf], "trials": [math.inf]},
        {"accepted": [1] * 65, "trials": [1] * 65},
    ],
)
def test_a_wrong_file_is_refused_in_one_line(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a baseline"):
        Baseline.from_json({**GOOD, **change})


@pytest.mark.parametrize("missing", GOOD)
def test_a_missing_count_is_named(missing: str) -> None:
    with pytest.raises(ValueError, match=missing):
        Baseline.from_json({key: value for key, value in GOOD.items() if key != missing})
