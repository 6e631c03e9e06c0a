"""The CUSUM for engines without positions."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import every_outcome, expected, without_positions
from specwatch_detectors import chain
from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.mean_cusum import MeanCusum
from specwatch_detectors.window import NOTHING, Window

EQUAL = (0.7, 0.7, 0.7)


def cusum(
    q: tuple[float, ...] = EQUAL, *, ratio: float = 0.93, design: float = 3.0, threshold: float = 13.56
) -> MeanCusum:
    return MeanCusum(chain.mean_accepted(q), depth=len(q), ratio=ratio, design=design, threshold=threshold)


@pytest.mark.parametrize("q", [(0.7,), (0.98,), (0.05,), EQUAL, (0.95, 0.95, 0.95)])
@pytest.mark.parametrize("ratio", [0.97, 0.8, 1.03])
@pytest.mark.parametrize("design", [1.0, 2.0, 45.0])
@pytest.mark.parametrize("drafts", [1, 5])
def test_the_likelihood_ratio_is_at_most_one_on_average(
    q: tuple[float, ...], ratio: float, design: float, drafts: int
) -> None:
    test = cusum(q, ratio=ratio, design=design)
    found = sum(
        share * math.exp(test.increment(without_positions(result))) for result, share in every_outcome(drafts, q)
    )
    assert found <= (1.0 + 1e-3 if design == 1.0 else 1.0 + 1e-9)


@pytest.mark.parametrize("ratio", [0.97, 0.8])
def test_with_one_token_a_draft_it_is_the_chain_cusum(ratio: float) -> None:
    chained = ChainCusum((0.7,), ratio=ratio, design=3.0, threshold=10.0)
    for factor in (0.5, 0.97, 1.0, 1.1):
        result = expected(5000, (0.7,), factor)
        assert cusum((0.7,), ratio=ratio).increment(result) == pytest.approx(chained.increment(result), abs=1e-6)


@pytest.mark.parametrize("effective", [10.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("ratio", [0.97, 0.93, 0.8])
def test_a_drop_of_its_size_or_larger_is_evidence_at_any_volume(effective: float, ratio: float) -> None:
    test, drafts = cusum(ratio=ratio), 3.0 * effective
    assert test.increment(without_positions(expected(drafts, EQUAL))) < 0.0
    for factor in (ratio, 0.5, 0.05):
        assert test.increment(without_positions(expected(drafts, EQUAL, factor))) > 0.0


def test_it_needs_little_more_than_the_chain() -> None:
    """Positions tell a bit more than their sum; the sum must not be far behind."""
    drop = expected(300, EQUAL, 0.93)
    chained = ChainCusum(EQUAL, ratio=0.93, design=3.0, threshold=13.56).increment(drop)
    assert 0.5 * chained < cusum().increment(without_positions(drop)) <= 1.01 * chained


@given(st.floats(0.0, 1e9), st.floats(0.0, 1.0), st.floats(1.0, 1e4))
def test_no_volume_breaks_it(drafts: float, share: float, design: float) -> None:
    score = cusum(design=design).update(Window(drafts, accepted_tokens=3.0 * share * drafts))
    assert math.isfinite(score)
    assert score >= 0.0


@given(st.floats(0.001, 0.999), st.integers(1, 16), st.sampled_from([0.8, 0.97, 1.03, 1.25]))
def test_any_baseline_can_be_judged(share: float, depth: int, ratio: float) -> None:
    test = MeanCusum(share * depth, depth=depth, ratio=ratio, design=2.0, threshold=5.0)
    assert math.isfinite(test.update(Window(1e6, accepted_tokens=0.5 * depth * 1e6)))


def test_no_drafts_are_no_evidence_and_state_goes_on() -> None:
    test = cusum()
    test.update(without_positions(expected(3000, EQUAL, 0.9)))
    kept = test.state()
    test.update(NOTHING)
    assert test.state() == kept
    again = MeanCusum(chain.mean_accepted(EQUAL), depth=3, ratio=0.93, design=3.0, threshold=13.56, state=kept)
    drop = without_positions(expected(500, EQUAL, 0.9))
    assert again.update(drop) == test.update(drop)
    test.reset()
    assert test.evidence == 0.0


@pytest.mark.parametrize(
    ("mean", "change", "what"),
    [
        (0.0, {}, "mean"),
        (3.0, {}, "mean"),
        (1.5, {"ratio": 1.0}, "ratio"),
        (1.5, {"design": 0.5}, "design"),
        (1.5, {"threshold": 0.0}, "threshold"),
    ],
)
def test_parameters_out_of_range_are_refused(mean: float, change: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        MeanCusum(mean, **{"depth": 3, "ratio": 0.93, "design": 2.0, "threshold": 5.0, **change})
