from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import expected, without_positions
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.fall import MOST_PARTS, Fall
from specwatch_detectors.window import NOTHING

BASELINE = Baseline(expected(1e6))


def fallen(before: int, after: int, factor: float = 0.9, *, positions: bool = True) -> Fall:
    """Intervals of 10 s with a little evidence by chance, then with a drop."""
    fall = Fall()
    for index in range(before + after):
        seen = expected(5000.0, factor=0.995 if index < before else factor)
        fall.take(seen if positions else without_positions(seen), 10.0 * index, quiet=False)
    return fall


@pytest.mark.parametrize("positions", [True, False])
@pytest.mark.parametrize("before", [0, 5, 15])
def test_the_onset_is_the_beginning_of_the_drop_and_not_of_the_evidence(before: int, *, positions: bool) -> None:
    fall = fallen(before, 10, positions=positions)
    assert fall.since == 0.0
    baseline = BASELINE if positions else Baseline(without_positions(BASELINE.counts))
    fall.settle(baseline, 3)
    assert fall.since == 10.0 * before
    assert fall.counts.drafts == 50_000.0


@given(before=st.integers(0, 400), after=st.integers(20, 400))
def test_a_long_fall_is_kept_in_few_parts_that_say_when_it_began_nearly_as_well(before: int, after: int) -> None:
    fall = fallen(before, after)
    assert len(fall.state()["parts"]) <= MOST_PARTS
    since, counts = fall.onset(BASELINE, 3)
    assert since == pytest.approx(10.0 * before, abs=20.0 * (before + after) / MOST_PARTS + 10.0)
    assert counts.drafts <= 5000.0 * (before + after)


def test_quiet_ends_it_and_a_kept_one_goes_on_the_same() -> None:
    fall = fallen(3, 40)
    again = Fall.restored(json.loads(json.dumps(fall.state())))
    for one in (fall, again):
        one.take(expected(5000.0, factor=0.9), 500.0, quiet=False)
        one.settle(BASELINE, 3)
    assert again == fall
    fall.take(NOTHING, 510.0, quiet=True)
    assert fall == Fall()


def test_without_a_shortfall_it_began_with_the_evidence() -> None:
    fall = Fall()
    fall.take(expected(5000.0, factor=1.01), 10.0, quiet=False)
    assert fall.onset(BASELINE, 3)[0] == 10.0
