"""A dead draft within two intervals, and hardly ever by chance: the claim of the docstring, computed exactly."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.hard_failure import LEAST_DRAFTS, LEAST_EFFECTIVE, RUNNING, SHARE, HardFailure
from specwatch_detectors.window import NOTHING, window


def below(drafts: int, first: float) -> float:
    """P(fewer than SHARE x first of independent drafts have position 1 accepted)."""
    most = math.ceil(SHARE * first * drafts) - 1
    return sum(math.comb(drafts, kept) * first**kept * (1.0 - first) ** (drafts - kept) for kept in range(most + 1))


@pytest.mark.parametrize("first", [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 0.98])
def test_two_intervals_by_chance_are_rarer_than_two_in_a_million(first: float) -> None:
    effective = math.ceil(LEAST_EFFECTIVE * max(1.0, 0.4 / first))
    assert below(effective, first) ** RUNNING < 2e-6


def test_a_dead_draft_alarms_in_its_second_interval() -> None:
    test = HardFailure(0.7, design=3.0)
    assert test.update(window(1000, [10, 0])) < 1.0
    assert test.update(window(1000, [10, 0])) >= 1.0
    assert test.update(window(1000, [10, 0])) == 1.0


def test_a_bad_draft_is_left_to_the_others() -> None:
    test = HardFailure(0.7, design=3.0)
    assert [test.update(window(1000, [260, 100])) for _ in range(10)] == [0.0] * 10


def test_a_good_interval_between_starts_again() -> None:
    test = HardFailure(0.7, design=3.0)
    dead, good = window(1000, [10]), window(1000, [700])
    assert [test.update(each) for each in (dead, good, dead, good)] == [0.5, 0.0, 0.5, 0.0]


@pytest.mark.parametrize(("drafts", "design"), [(LEAST_DRAFTS - 1, 2.0), (45.0 * LEAST_EFFECTIVE - 1, 45.0)])
def test_too_few_drafts_are_no_evidence_either_way(drafts: float, design: float) -> None:
    test = HardFailure(0.7, design=design)
    for _ in range(10):
        assert test.update(window(drafts, [0.0])) == 0.0
    test.update(window(1e6, [0.0]))
    assert test.update(window(drafts, [0.7 * drafts])) == 0.5
    assert test.update(NOTHING) == 0.5


@given(st.floats(0.0, 1.0), st.floats(1.0, 1e4), st.floats(0.0, 1e9), st.floats(0.0, 1.0))
def test_no_volume_breaks_it(first: float, design: float, drafts: float, share: float) -> None:
    test = HardFailure(first, design=design)
    again = HardFailure(first, design=design, state=test.state())
    seen = window(drafts, [drafts * share])
    for _ in range(3):
        assert test.update(seen) == again.update(seen)
    assert 0.0 <= test.score <= 1.0
    test.reset()
    assert test.score == 0.0
