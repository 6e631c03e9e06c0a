"""The chain's arithmetic against enumeration of every outcome of one draft."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors import chain

CHAINS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6)


def outcomes(q: list[float]) -> list[tuple[int, float]]:
    """Tokens kept of one draft, and how likely."""
    found = []
    for kept in range(len(q) + 1):
        share = math.prod(q[:kept]) * (1.0 - q[kept] if kept < len(q) else 1.0)
        found.append((kept, share))
    return found


@given(CHAINS)
def test_mean_and_variance_are_those_of_one_draft(q: list[float]) -> None:
    mean = sum(kept * share for kept, share in outcomes(q))
    square = sum(kept**2 * share for kept, share in outcomes(q))
    assert chain.mean_accepted(q) == pytest.approx(mean, abs=1e-9)
    assert chain.variance(q) == pytest.approx(square - mean**2, abs=1e-9)


@given(CHAINS)
def test_conditional_undoes_unconditional(q: list[float]) -> None:
    p = chain.unconditional(q)
    back = chain.conditional(p)
    reached = chain.reached(q)
    assert all(b == pytest.approx(a, rel=1e-6) for a, b, r in zip(q, back, reached, strict=True) if r > 1e-200)
    assert all(first >= second for first, second in itertools.pairwise(p))


def test_divergence_of_the_derivation() -> None:
    assert chain.divergence(0.41, 0.46) == pytest.approx(0.00507, abs=5e-6)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_divergence_is_not_negative_and_finite(after: float, before: float) -> None:
    found = chain.divergence(after, before)
    assert found >= -1e-15
    assert math.isfinite(found)


@given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=5), st.floats(0.5, 1.0))
def test_information_is_the_expected_log_likelihood_ratio_of_one_draft(q: list[float], ratio: float) -> None:
    after = [ratio * value for value in q]

    def likelihood(kept: int, of: list[float]) -> float:
        return math.prod(of[:kept]) * (1.0 - of[kept] if kept < len(of) else 1.0)

    expected = sum(
        share * math.log(likelihood(kept, after) / likelihood(kept, q)) for kept, share in outcomes(after)
    )
    assert chain.information(after, q) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.01, 0.99), st.integers(1, 8))
def test_geometric_finds_the_equal_conditionals(share: float, depth: int) -> None:
    q = chain.geometric(share * depth, depth)
    assert len(set(q)) == 1
    assert chain.mean_accepted(q) == pytest.approx(share * depth, rel=1e-6)


@pytest.mark.parametrize("value", [-1.0, 0.0, 0.5, 1.0, 2.0])
def test_inside_keeps_away_from_certainty(value: float) -> None:
    assert chain.TINY <= chain.inside(value) <= 1.0 - chain.TINY
