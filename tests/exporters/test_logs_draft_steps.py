"""The number of draft steps behind a log line, found from rounded numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.logs.draft_steps import Printed, solve


def line(kept: list[int], drafted: list[int], depth: int, *, bare: bool = False) -> Printed:
    """The numbers that vLLM prints for these draft steps."""
    steps, accepted = len(kept), sum(kept)
    positions = tuple(round(sum(count > index for count in kept) / steps, 3) for index in range(depth))
    length = round(accepted / steps + (0.0 if bare else 1.0), 2)
    return Printed(accepted, sum(drafted), length, positions)


@st.composite
def steps_of(draw: st.DrawFn, trimmed: bool) -> tuple[list[int], list[int], int]:
    depth = draw(st.integers(1, 8))
    fewest = 1 if trimmed else depth
    drafted = draw(st.lists(st.integers(fewest, depth), min_size=1, max_size=300))
    kept = [draw(st.integers(0, count)) for count in drafted]
    return kept, drafted, depth


@settings(deadline=None)
@given(steps_of(trimmed=False), st.booleans())
def test_full_drafts_give_the_exact_number(steps: tuple[list[int], list[int], int], bare: bool) -> None:
    kept, drafted, depth = steps
    found = solve(line(kept, drafted, depth, bare=bare))
    assert (found.drafts, found.depth, found.bare, found.agrees, found.whole) == (
        len(kept),
        depth,
        bare,
        True,
        True,
    )


@settings(deadline=None)
@given(steps_of(trimmed=True))
def test_trimmed_drafts_give_the_exact_number_or_none(steps: tuple[list[int], list[int], int]) -> None:
    kept, drafted, depth = steps
    printed = line(kept, drafted, depth)
    found = solve(printed)
    assert found.depth == depth
    if found.drafts not in (None, len(kept)):
        # Another number fits the line as well as the true one: it is D / K, and every printed number allows it.
        assert found.drafts == printed.drafted / depth
        assert abs(1 + printed.accepted / found.drafts - (printed.length or 0)) <= 0.00501
    if found.estimate is not None and found.agrees is False:
        assert found.estimate >= printed.accepted / depth


@settings(deadline=None)
@given(steps_of(trimmed=False), st.data())
def test_a_cut_list_of_positions_changes_nothing_or_is_unknown(
    steps: tuple[list[int], list[int], int], data: st.DataObject
) -> None:
    kept, drafted, depth = steps
    whole = line(kept, drafted, depth)
    keep = data.draw(st.integers(0, depth - 1))
    cut = Printed(whole.accepted, whole.drafted, whole.length, whole.positions[:keep], positions_cut=True)
    found = solve(cut, depth_hint=depth)
    assert (found.drafts, found.depth) in ((len(kept), depth), (found.drafts, None))


@pytest.mark.parametrize(
    ("printed", "hint", "drafts", "depth"),
    [
        (Printed(5306, 8703, 2.83, (0.730,), positions_cut=True), None, 2901, 3),
        (Printed(150, 386, 2.16, (0.543, 0.357, 0.264)), None, 129, 3),
        (Printed(0, 45, 1.00, (0.0, 0.0, 0.0)), None, 15, 3),
        (Printed(66, 66, None), 3, 22, 3),
        (Printed(66, 66, None), None, None, None),
        (Printed(66, 67, None), 3, None, 3),
        (Printed(29746, 78806, 3.63, (0.782, 0.564, 0.413, 0.307, 0.230, 0.183, 0.147)), None, None, 7),
    ],
    ids=["cut", "one-trimmed", "nothing-kept", "k-known", "k-unknown", "k-does-not-divide", "dynamic-k"],
)
def test_lines(printed: Printed, hint: int | None, drafts: int | None, depth: int | None) -> None:
    found = solve(printed, hint)
    assert (found.drafts, found.depth) == (drafts, depth)


def test_an_uncertain_number_is_estimated_within_the_rounding() -> None:
    found = solve(Printed(29746, 78806, 3.63, (0.782, 0.564, 0.413, 0.307, 0.230, 0.183, 0.147)))
    assert found.estimate == pytest.approx(11325, rel=0.01)


def test_positions_that_cannot_belong_to_the_counts_are_not_believed() -> None:
    found = solve(Printed(150, 387, 2.16, (0.943, 0.857, 0.764)))
    assert not found.whole
