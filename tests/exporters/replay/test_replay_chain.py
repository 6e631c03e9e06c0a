from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.replay.chain import (
    Rates,
    accepted,
    at_depth,
    checked_rates,
    conditional,
    shifted,
    unconditional,
)

rates_lists = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8).map(
    lambda values: tuple(sorted(values, reverse=True))
)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([], "at least one position"),
        ([1.2], "between 0 and 1"),
        ([-0.1], "between 0 and 1"),
        ([float("nan")], "between 0 and 1"),
        ([0.4, 0.5], "cannot increase"),
    ],
)
def test_wrong_rates_are_refused_with_the_reason(values: Sequence[float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        checked_rates(values)


@given(rates_lists)
def test_conditional_and_unconditional_are_inverse(rates: Rates) -> None:
    assert unconditional(conditional(rates)) == pytest.approx(rates)


@given(rates_lists, st.integers(1, 16))
def test_rates_at_any_depth_are_valid_and_keep_their_beginning(rates: Rates, depth: int) -> None:
    longer = at_depth(rates, depth)
    assert len(longer) == depth
    assert checked_rates(longer)[: len(rates)] == rates[:depth]


def test_deeper_positions_continue_the_last_conditional_acceptance() -> None:
    assert at_depth((0.8, 0.4), 4) == pytest.approx((0.8, 0.4, 0.2, 0.1))


@given(rates_lists, st.floats(-3, 3))
def test_a_shift_keeps_rates_valid_and_moves_them_one_way(rates: Rates, shift: float) -> None:
    moved = shifted(rates, shift)
    checked_rates(moved)
    assert all(
        (new >= old - 1e-9) if shift >= 0 else (new <= old + 1e-9) for new, old in zip(moved, rates, strict=True)
    )


@given(rates_lists, st.integers(0, 8), st.integers(0, 1000))
def test_never_more_is_accepted_than_was_drafted(rates: Rates, drafted: int, seed: int) -> None:
    drafted = min(drafted, len(rates))
    assert 0 <= accepted(random.Random(seed), rates, drafted) <= drafted


@pytest.mark.parametrize(("rates", "kept"), [((1.0, 1.0, 1.0), 3), ((0.0, 0.0), 0), ((1.0, 0.0), 1)])
def test_certain_rates_are_certain(rates: Rates, kept: int) -> None:
    rng = random.Random(1)
    assert {accepted(rng, rates, len(rates)) for _ in range(200)} == {kept}


def test_draws_follow_the_rates_within_binomial_error() -> None:
    rates = (0.76, 0.55, 0.38)
    rng = random.Random(7)
    draws = [accepted(rng, rates, 3) for _ in range(40_000)]
    for position, rate in enumerate(rates):
        seen = sum(kept > position for kept in draws) / len(draws)
        assert abs(seen - rate) < 5 * math.sqrt(rate * (1 - rate) / len(draws))
