"""Windows: counts that stay counts, whatever the engine's page looked like."""

from __future__ import annotations

import math

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


@pytest.mark.parametrize(
    ("accepted", "tokens", "positions"),
    [
        ([700, 500, 0, 0, 0], 2000, 2),
        ([700, 500, 0, 0, 0], 2020, 2),
        ([0, 0, 0, 0, 0], 2000, 2),
        ([0, 0, 0, 0, 0], 5000, 5),
        ([700, 0, 0, 0, 0], 1000, 1),
        ([700, 500, 400, 0, 0], 3000, 3),
    ],
)
def test_an_interval_of_less_depth_has_only_the_positions_that_were_drafted(
    accepted: list[float], tokens: float, positions: int
) -> None:
    found = window(1000, accepted, draft_tokens=tokens)
    assert found.accepted == tuple(accepted[:positions])
    assert found.trials == (1000, *accepted[: positions - 1])
    assert not found.censored


@pytest.mark.parametrize(
    ("accepted", "tokens"),
    [([700, 500, 300, 200, 100], 3000), ([700, 500, 100, 0, 0], 2000), ([700, 500, 100, 60, 20], 2300)],
)
def test_mixed_depths_are_not_taken_for_one(accepted: list[float], tokens: float) -> None:
    """Half at 5 and half at 1 have 3 tokens on average, too."""
    found = window(1000, accepted, draft_tokens=tokens)
    assert found.censored
    assert found.accepted == (700,)


def test_depth_is_what_nearly_all_drafts_had() -> None:
    both = window(1000, [700, 500, 300]) + window(1000, [700])
    assert (both.depth(), both.depth(0.5), both.depth(0.51)) == (1, 3, 1)
    assert window(1000, [700, 280], drafted=[1000, 500]).depth() == 1
    assert window(1000, [0, 0, 0]).depth() == 3
    assert NOTHING.depth() == 0


def test_first_positions_have_the_accepted_tokens_of_shorter_drafts() -> None:
    found = window(1000, [700, 500, 300]).first(2)
    assert (found.accepted, found.trials) == ((700, 500), (1000, 700))
    assert found.accepted_tokens == pytest.approx(1200)
    mixed = window(1000, [700, 500, 300]) + window(1000, [700])
    assert mixed.first(3).accepted_tokens == pytest.approx(2 * 1500)
    unknown = Window(1000, accepted_tokens=1500)
    assert unknown.first(2) is unknown


@given(
    st.lists(st.tuples(st.integers(1, 5), st.floats(1e-3, 1e9)), min_size=1, max_size=6),
    st.lists(st.floats(0.01, 0.99), min_size=5, max_size=5),
    st.booleans(),
)
def test_whatever_depths_an_interval_mixes_its_conditionals_are_the_drafts(
    parts: list[tuple[int, float]], q: list[float], drafted: bool
) -> None:
    """Positions that were not drafted are left out; those that are in say what the draft does."""
    drafts, tried, kept = 0.0, [0.0] * 5, [0.0] * 5
    for depth, many in parts:
        drafts += many
        for position in range(depth):
            tried[position] += many
            kept[position] += many * math.prod(q[: position + 1])
    found = window(drafts, kept, draft_tokens=sum(tried), drafted=tried if drafted else [])
    assert found.accepted
    short = 1.0 - min(0.02, sum(many for depth, many in parts if depth < max(parts)[0]) / drafts) * 5
    for value, own, had in zip(found.accepted, found.trials, q, strict=False):
        assert short * had - 1e-6 <= value / own <= had + 1e-6


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
