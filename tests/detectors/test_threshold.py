"""Thresholds and bounds against the derivation's own numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Q
from specwatch_detectors.chain import divergence
from specwatch_detectors.threshold import Budget, information_rate, lorden_delay, optimal_delay


@pytest.mark.parametrize(("statistics", "h"), [(1, 12.47), (3, 13.56), (6, 14.26), (12, 14.95)])
def test_one_page_in_thirty_days_at_ten_seconds(statistics: int, h: float) -> None:
    budget = Budget(pages=1.0, interval_s=10.0, statistics=statistics)
    assert math.log(budget.run_length) == pytest.approx(h, abs=0.005)
    assert 0.0 < h - 3.0 < budget.threshold < h + 0.005


def test_pods_that_share_a_budget_add_their_logarithm() -> None:
    assert Budget(streams=100).run_length == pytest.approx(100 * Budget().run_length)
    assert Budget(streams=100).threshold - Budget().threshold == pytest.approx(math.log(100), abs=0.1)
    assert Budget(pages=10.0).threshold == pytest.approx(Budget().threshold - math.log(10), abs=0.1)


@pytest.mark.parametrize("change", [{"pages": 0.0}, {"interval_s": 0.0}, {"statistics": 0}, {"streams": 0}])
def test_a_budget_of_nothing_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Budget(**change)


@given(st.floats(1e-3, 1e9), st.floats(0.1, 1e6), st.integers(1, 1000))
def test_a_threshold_is_always_usable(pages: float, interval_s: float, streams: int) -> None:
    assert Budget(pages, interval_s, streams=streams).threshold > 0.0


def test_the_worked_example() -> None:
    """39,984 tokens a scrape, token design effect 80, acceptance .46 to .41: 4.9 scrapes."""
    rate = 39_984 / 80 * divergence(0.41, 0.46)
    assert rate == pytest.approx(2.53, abs=0.01)
    assert lorden_delay(math.exp(12.48), rate) == pytest.approx(4.9, abs=0.05)
    assert information_rate((0.41,), (0.46,), 39_984, 80.0) == pytest.approx(rate)


def test_quoting_the_bound_without_the_design_effect_makes_it_unreachable() -> None:
    after = tuple(0.95 * value for value in Q)
    assert information_rate(after, Q, 1000, 1.0) == pytest.approx(40 * information_rate(after, Q, 1000, 40.0))


@pytest.mark.parametrize("delay", [lorden_delay, optimal_delay])
def test_no_evidence_no_delay(delay: Any) -> None:
    assert math.isinf(delay(1e5, 0.0))
    assert delay(1e5, 1e9) == 1.0


@given(st.floats(10.0, 1e9), st.floats(1e-6, 1.0))
def test_the_optimum_solves_its_own_equation(run_length: float, rate: float) -> None:
    """Back from the delay to the barrier and to the run length, by the Brownian formulas."""
    delay = optimal_delay(run_length, rate)
    if delay <= 1.0:
        return
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (math.exp(-middle) + middle - 1.0) / rate < delay else (low, middle)
    assert (math.expm1(low) - low) / rate == pytest.approx(run_length, rel=1e-3)


@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_at_a_large_run_length_the_optimum_nears_its_asymptote(rate: float) -> None:
    run_length = 1e12
    assert optimal_delay(run_length, rate) == pytest.approx((math.log(run_length * rate) - 1.0) / rate, rel=0.01)
    assert optimal_delay(run_length, rate) < lorden_delay(run_length, rate)
