"""Windows: counts that stay counts, whatever the engine's page looked like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.window import NOTHING, Window, window

COUNTS = st.floats(0.0, 1e9)


def test_a_full_depth_page_gives_a_chain_whose_trials_are_the_position_before() -> None:
    found = window(1000, [700, 500, 300], draft_tokens=3000)
    assert found == Window(1000, (700, 500, 300), (1000, 700, 500), 1500)
    assert found.length == 2.5


@pytest.mark.parametrize(("drafts", "accepted"), [(0, []), (0, [0, 0]), (0, [5, 1])])
def test_no_drafts_are_nothing(drafts: float, accepted: list[float]) -> None:
    assert window(drafts, accepted) == NOTHING
    assert NOTHING.length is None


@pytest.mark.parametrize(
    ("drafts", "accepted", "total", "drafted"),
    [(-1, [], None, []), (10, [-1], None, []), (10, [1], -1, []), (10, [1], None, [-1])],
)
def test_negative_counts_are_refused(
    drafts: float, accepted: list[float], total: float | None, drafted: list[float]
) -> None:
    with pytest.raises(ValueError, match="not negative"):
        window(drafts, accepted, accepted_tokens=total, drafted=drafted)


def test_drafts_of_several_depths_without_counts_per_position_leave_only_the_first() -> None:
    found = window(1000, [700, 300], draft_tokens=1500)
    assert found.censored
    assert (found.accepted, found.trials) == ((700,), (1000,))
    assert found.accepted_tokens == 1000


def test_a_page_that_is_a_step_behind_is_not_taken_for_several_depths() -> None:
    assert not window(1000, [700, 300], draft_tokens=1998).censored


def test_drafted_counts_give_true_trials() -> None:
    found = window(1000, [700, 280], drafted=[1000, 500])
    assert list(found.trials) == [1000, 350]
    assert list(found.accepted) == [700, 280]


def test_a_position_beyond_those_that_were_drafted_is_left_out() -> None:
    assert window(10, [5, 3, 2], drafted=[10, 10]).accepted == (5, 3)


def test_a_later_position_never_counts_more_than_an_earlier_one() -> None:
    assert window(100, [70, 71, 30]).accepted == (70, 70, 30)
    assert window(100, [101]).accepted == (100,)


@given(COUNTS, st.lists(COUNTS, max_size=8), st.lists(COUNTS, max_size=8))
def test_accepted_never_exceeds_trials(drafts: float, accepted: list[float], drafted: list[float]) -> None:
    found = window(drafts, accepted, drafted=drafted)
    assert len(found.accepted) == len(found.trials)
    assert all(0.0 <= kept <= tried <= drafts for kept, tried in zip(found.accepted, found.trials, strict=True))


@given(st.lists(st.tuples(COUNTS, st.lists(COUNTS, max_size=5)), min_size=2, max_size=4))
def test_adding_windows_is_commutative_and_adds_every_count(parts: list[tuple[float, list[float]]]) -> None:
    windows = [window(drafts, accepted) for drafts, accepted in parts]
    forth, back = sum(windows, NOTHING), sum(reversed(windows), NOTHING)
    assert forth.drafts == pytest.approx(back.drafts) == pytest.approx(sum(each.drafts for each in windows))
    assert forth.accepted == pytest.approx(back.accepted)
    assert len(forth.accepted) == max(len(each.accepted) for each in windows)


def test_a_scaled_window_has_the_same_rates() -> None:
    found = window(1000, [700, 300]).scaled(0.25)
    assert found == Window(250, (175, 75), (250, 175), 250)
