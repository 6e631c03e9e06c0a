"""The bank: who judges with how good a baseline, and what it hands on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Q, expected, without_positions
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.deploy_test import Verdict
from specwatch_detectors.drift_bank import COARSE, FINE, DriftBank
from specwatch_detectors.window import NOTHING, window


def bank(drafts: float = 1e7, *, positions: bool = True, design: float = 5.0) -> DriftBank:
    counts = expected(drafts)
    baseline = Baseline(counts if positions else without_positions(counts))
    return DriftBank(baseline, design=design, threshold=13.56, depth=3)


@pytest.mark.parametrize("positions", [True, False])
def test_members_join_as_the_baseline_ripens(positions: bool) -> None:
    grown = [bank(10.0 ** (power / 16), positions=positions).members for power in range(8 * 16)]
    assert grown[0] == ()
    assert (COARSE,) in grown
    assert grown[-1] == FINE
    sizes = [max((member.ratio for member in members), default=0.0) for members in grown]
    assert sizes == sorted(sizes)


def test_no_member_judges_with_a_baseline_whose_error_could_be_taken_for_its_change() -> None:
    for drafts in (100, 1e3, 1e4, 1e5, 1e6, 1e7):
        found = bank(drafts)
        error = found.baseline.relative_error(found.design)
        assert all(3.0 * error <= (1.0 - member.ratio) / 2.0 + 1e-12 for member in found.members)


@pytest.mark.parametrize("positions", [True, False])
@pytest.mark.parametrize("drafts", [300.0, 5000.0, 1e6, 1e9])
@pytest.mark.parametrize(("factor", "alarm"), [(1.0, False), (1.05, False), (0.96, True), (0.8, True), (0.1, True)])
def test_drops_of_its_members_size_alarm_and_nothing_else_does(
    positions: bool, drafts: float, factor: float, alarm: bool
) -> None:
    found, seen = bank(positions=positions), expected(drafts, factor=factor)
    for _ in range(600):
        found.update(seen if positions else without_positions(seen))
    assert (found.score >= 1.0) is alarm


def uneven(deep: float, first: float = 1e7) -> Baseline:
    """Position 1 known from many drafts, the others from fewer."""
    return Baseline(expected(first - deep, Q[:1]) + expected(deep))


def test_positions_that_are_not_known_well_yet_wait_and_the_others_are_judged() -> None:
    young = DriftBank(uneven(1000.0), design=5.0, threshold=13.56, depth=3)
    assert (young.judged, young.complete) == (1, True)
    ripe = DriftBank(uneven(2e6), design=5.0, threshold=13.56, depth=3, state=young.state(), judged=1)
    assert (ripe.judged, ripe.complete) == (3, True)


@pytest.mark.parametrize("design", [5.0, 50.0, 1e3, 1e5, 1e9])
def test_a_wider_spread_takes_no_position_and_not_the_last_member(design: float) -> None:
    before = DriftBank(uneven(2e6), design=5.0, threshold=13.56, depth=3)
    after = DriftBank(
        before.baseline, design=design, threshold=13.56, depth=3, state=before.state(), judged=before.judged
    )
    assert after.judged == 3
    assert after.members
    anew = DriftBank(before.baseline, design=1e9, threshold=13.56, depth=3)
    assert not anew.members


def test_a_dead_draft_is_named() -> None:
    found = bank()
    for _ in range(2):
        found.update(window(400, [4, 0, 0]))
    assert found.scores["hard"] == 1.0
    assert found.loudest == "hard"


def test_before_any_member_there_is_no_score() -> None:
    found = bank(0.0)
    assert found.update(expected(1e6, factor=0.1)) == 0.0
    assert (found.loudest, found.quiet, found.scores) == ("", True, {})


@pytest.mark.parametrize("positions", [True, False])
@pytest.mark.parametrize(
    ("factor", "cleared"), [(1.0, True), (1.02, True), (0.97, False), (0.9, False), (0.0, False)]
)
def test_a_drift_is_cleared_by_acceptance_as_before_and_by_nothing_less(
    positions: bool, factor: float, cleared: bool
) -> None:
    test, seen = bank(positions=positions).clear_test(6.9), expected(5000, factor=factor)
    scores = [test.update(seen if positions else without_positions(seen)) for _ in range(200)]
    assert (max(scores) >= 1.0) is cleared


@pytest.mark.parametrize("positions", [True, False])
def test_it_makes_the_deploy_test(positions: bool) -> None:
    for factor, verdict in ((1.0, Verdict.AS_GOOD), (0.85, Verdict.WORSE)):
        test, seen = bank(positions=positions).deploy_test(), expected(5000, factor=factor)
        for _ in range(20):
            test.update(seen if positions else without_positions(seen))
        assert test.verdict is verdict


@given(st.lists(st.floats(0.0, 1.2), max_size=30), st.integers(0, 30))
def test_it_goes_on_from_its_state(factors: list[float], cut: int) -> None:
    whole, first = bank(), bank()
    for factor in factors[:cut]:
        first.update(expected(2000, factor=factor))
    kept = json.loads(json.dumps(first.state()))
    second = DriftBank(first.baseline, design=first.design, threshold=13.56, depth=3, state=kept)
    assert second.scores == first.scores
    for factor in factors[cut:]:
        second.update(expected(2000, factor=factor))
    for factor in factors:
        whole.update(expected(2000, factor=factor))
    assert second.state() == whole.state()


def test_no_drafts_change_nothing_and_reset_forgets() -> None:
    found = bank()
    found.update(expected(5000, factor=0.9))
    kept = found.state()
    found.update(NOTHING)
    assert found.state() == kept
    quiet = [found.quiet]
    found.reset()
    assert [*quiet, found.quiet] == [False, True]
    assert found.score == 0.0
