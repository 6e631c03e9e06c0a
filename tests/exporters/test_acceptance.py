from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.acceptance import Tally, from_histogram, ratio

COUNTS = st.integers(min_value=0, max_value=10**9)


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [(1, 2, 0.5), (0, 5, 0.0), (0, 0, None), (3, 0, None), (None, 4, None), (4, None, None), (1, -1, None)],
)
def test_ratio_is_unknown_without_a_denominator(
    numerator: float | None, denominator: float | None, expected: float | None
) -> None:
    assert ratio(numerator, denominator) == expected


def test_conditional_is_measured_against_the_position_before() -> None:
    tally = Tally(drafts=100, draft_tokens=300, accepted_tokens=150, accepted_per_position=(80, 50, 20))
    assert tally.per_position == (0.8, 0.5, 0.2)
    assert tally.conditional == (0.8, 50 / 80, 20 / 50)
    assert tally.mean_acceptance_length == 2.5


def test_positions_behind_a_rejection_are_unknown_not_zero() -> None:
    tally = Tally(drafts=10, accepted_per_position=(0, 0))
    assert tally.per_position == (0.0, 0.0)
    assert tally.conditional == (0.0, None)


def test_an_empty_tally_knows_nothing() -> None:
    tally = Tally()
    assert (tally.acceptance_rate, tally.mean_acceptance_length) == (None, None)
    assert tally.per_position == tally.conditional == ()


@given(st.lists(st.integers(min_value=0, max_value=500), min_size=1, max_size=20))
def test_histogram_and_positions_agree(histogram: list[int]) -> None:
    positions = from_histogram(tuple(histogram))
    assert len(positions) == len(histogram) - 1
    assert sum(positions) == sum(accepted * steps for accepted, steps in enumerate(histogram))
    assert list(positions) == sorted(positions, reverse=True)


@given(st.lists(COUNTS, min_size=1, max_size=16), COUNTS)
def test_product_of_conditionals_is_the_unconditional(counts: list[int], more: int) -> None:
    ordered = tuple(float(count) for count in sorted(counts, reverse=True))
    tally = Tally(drafts=ordered[0] + more, accepted_per_position=ordered)
    product = 1.0
    for conditional, unconditional in zip(tally.conditional, tally.per_position, strict=True):
        if conditional is None or unconditional is None:
            return
        product *= conditional
        assert product == pytest.approx(unconditional, rel=1e-9, abs=1e-12)
