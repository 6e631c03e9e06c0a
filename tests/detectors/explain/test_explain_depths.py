"""Before and after a fall, where drafts are of another depth: compared over the positions that both have."""

from __future__ import annotations

import pytest

from detectors.drafting import Q, expected, without_positions
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.recent_windows import RecentWindows
from specwatch_detectors.window import NOTHING


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 3), (1, 3)])
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_another_depth_is_no_change_of_acceptance(before: int, after: int, factor: float) -> None:
    pair = Comparison(expected(1e5, Q[:before]), expected(1e5, Q[:after], factor)).of_one_depth()
    assert pair.change is not None
    assert (pair.change < -0.05) is (factor < 1.0)
    assert pair.change <= 1e-9
    assert len(pair.before.accepted) == len(pair.after.accepted) == min(before, after)


def test_shares_of_depths_are_no_change_either() -> None:
    half = expected(1e5) + expected(1e5, Q[:1])
    pair = Comparison(expected(1e5), half + expected(1e4)).of_one_depth()
    assert pair.change == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    "pair",
    [
        Comparison(expected(1e5), expected(1e4, factor=0.8)),
        Comparison(without_positions(expected(1e5)), expected(1e4)),
        Comparison(NOTHING, expected(1e4)),
    ],
)
def test_what_has_one_depth_or_none_stays_as_it_is(pair: Comparison) -> None:
    assert pair.of_one_depth() == pair


def test_history_is_given_out_at_one_depth() -> None:
    recent = RecentWindows(10.0)
    for at in range(1, 21):
        seen = expected(1000, Q if at <= 10 else Q[:2])
        recent.add(10.0 * at, seen, {"chat": seen})
    total, classes = recent.around(100.0)
    assert total.change == pytest.approx(0.0, abs=1e-9)
    assert classes["chat"].change == pytest.approx(0.0, abs=1e-9)
