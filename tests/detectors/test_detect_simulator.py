"""The traffic simulator of the detectors' bench: counts that can be, spread as measured, the same for a seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_detect import fixed_rules
from bench_detect.demand import BLOCK, DAY, Habits, demand
from bench_detect.detect_table import report, report_json
from bench_detect.lower_bound import RUN_LENGTH, at_finite_run_length, first_order
from bench_detect.page_interval import at_most, exact_bounds, per_month
from bench_detect.peer_search import loosest, quickness
from bench_detect.plan import TINY
from bench_detect.river_peers import outcome_of
from bench_detect.run import measure
from bench_detect.simulator import Counts, simulate_day
from bench_detect.spread_check import design_effect
from bench_detect.traffic_class import ALIKE, CHAT, MATH, TrafficClass
from specwatch_detectors.baseline import Baseline
from specwatch_detectors.window import window

BUSY = Habits(even=True)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]), st.sampled_from([1.0, 0.9, 0.5, 0.0]))
def test_accepted_positions_fall_and_never_exceed_the_drafts(seed: int, slots: int, ratio: float) -> None:
    counts = simulate_day([seed], ALIKE, slots, ratio=ratio).counts
    assert counts.min() >= 0
    assert (np.diff(counts, axis=2) <= 0).all()
    assert counts[:, :, 0].sum(axis=1).max() <= slots * 1000


def test_a_seed_gives_the_same_day_and_another_one_another() -> None:
    first, again = (simulate_day([5, 1], ALIKE, 2).counts for _ in range(2))
    assert (first == again).all()
    assert (first != simulate_day([5, 2], ALIKE, 2).counts).any()


@pytest.mark.parametrize("ratio", [0.97, 0.8, 0.5])
def test_a_ratio_lowers_every_conditional_acceptance_by_it(ratio: float) -> None:
    before, after = (
        simulate_day([9], (MATH,), 4, ratio=r, habits=BUSY).counts.sum(axis=(0, 1)) for r in (1.0, ratio)
    )
    assert (after[1:] / after[:-1]) / (before[1:] / before[:-1]) == pytest.approx(np.full(3, ratio), rel=0.01)


@pytest.mark.parametrize(
    ("classes", "low", "high"),
    [((MATH,), 1.6, 2.4), ((CHAT,), 25.0, 45.0), (ALIKE, 20.0, 35.0)],
    ids=["homogeneous", "chat", "mix"],
)
def test_counts_spread_as_those_of_public_traces(
    classes: tuple[TrafficClass, ...], low: float, high: float
) -> None:
    """One homogeneous task 2, chat 30 to 40, a mix 25 to 30 times independent drafts."""
    assert low <= design_effect(_busy(classes), 1) <= high


def test_requests_straddle_scrapes() -> None:
    """Longer spans spread more than single scrapes, and neighbours go together."""
    counts = _busy((CHAT,))
    assert design_effect(counts, 12) > 1.1 * design_effect(counts, 1)
    length = counts[:, 1:].sum(axis=1) / counts[:, 0]
    assert 0.05 < np.corrcoef(length[1:], length[:-1])[0, 1] < 0.35


def test_records_of_requests_are_capped_and_add_up() -> None:
    day = simulate_day([4], ALIKE, 1)
    kind, drafts, accepted = day.requests.T
    assert set(kind) == {0, 1, 2, 3}
    assert (accepted <= 3 * drafts).all()
    assert 1 <= drafts.min() < 20
    assert drafts.max() <= 2048
    assert day.counts[:, :, 0].sum() == drafts.sum()


def test_a_day_has_a_peak_a_quiet_night_and_restarts() -> None:
    rng = np.random.default_rng(3)
    plans = [demand(rng, ALIKE, 16, Habits(restarts=3.0)) for _ in range(12)]
    noon, night = (
        np.mean([plan.active[hour * 360 : (hour + 1) * 360].mean() for plan in plans]) for hour in (15, 3)
    )
    assert noon > 5 * night
    assert any((plan.active.reshape(-1, BLOCK) == 0).all(axis=1).any() for plan in plans)
    for plan in plans:
        assert plan.mix.sum(axis=1) == pytest.approx(np.ones(DAY // BLOCK))
        assert all(plan.active[back - 1] == 0.0 for back in plan.restarts)
    assert any(plan.restarts for plan in plans)


@pytest.mark.parametrize(
    ("count", "lower", "upper"),
    [(0, 0.0, 2.996), (1, 0.0253, 5.572), (10, 4.795, 18.39), (4000, 3876.991, 4125.919)],
)
def test_poisson_bounds_are_the_tables(count: int, lower: float, upper: float) -> None:
    assert exact_bounds(count) == pytest.approx((lower, upper), rel=1e-3)


@given(st.integers(1, 100))
def test_poisson_bounds_leave_two_and_a_half_percent_on_each_side(count: int) -> None:
    lower, upper = exact_bounds(count)
    assert 1.0 - at_most(lower, count - 1) == pytest.approx(0.025, rel=1e-3)
    assert at_most(upper, count) == pytest.approx(0.025, rel=1e-3)


def test_no_page_in_ninety_days_bounds_the_rate_at_one() -> None:
    assert per_month(0, 90.0) == pytest.approx((0.0, 0.0, 1.0), abs=2e-3)


def test_the_bound_waits_for_the_evidence_and_at_least_one_scrape() -> None:
    assert first_order(np.full(100, 0.5)) == pytest.approx(math.log(RUN_LENGTH) / 0.5)
    assert first_order(np.full(100, 50.0)) == 1.0
    assert first_order(np.array([0.0] * 10 + [2.0] * 90)) == pytest.approx(10 + math.log(RUN_LENGTH) / 2.0)
    assert math.isinf(first_order(np.zeros(10)))
    assert at_finite_run_length(np.full(1000, 0.05)) < first_order(np.full(1000, 0.05))


def test_fixed_rules_fire_after_five_minutes_and_forget() -> None:
    good, bad, none = [100, 70, 50, 30], [100, 40, 10, 5], [0, 0, 0, 0]
    rows = np.array(
        [good] * 5 + [bad] * 29 + [good] + [bad] * 29 + [none] + [bad] * 40 + [good] * 5, dtype=np.int32
    )
    baseline = Baseline().learned(window(100, good[1:]))
    firing = fixed_rules.breaches(rows, baseline)
    assert fixed_rules.pages(firing[fixed_rules.LENGTH_RULE]) == 1
    assert fixed_rules.first(firing[fixed_rules.LENGTH_RULE]) == 5 + 29 + 1 + 29 + 1 + 30
    assert fixed_rules.first(firing[fixed_rules.SIGMA_RULE]) == 6
    assert fixed_rules.first(np.zeros(4, dtype=np.bool_)) is None


@given(st.integers(0, 12), st.integers(1, 12))
def test_the_loosest_settings_that_keep_the_budget_are_found(first: int, size: int) -> None:
    assert loosest(range(size), lambda each: each >= first) == (first if first < size else None)


def test_a_miss_counts_as_the_horizon() -> None:
    assert quickness([[10, 30], [None, 20]], 180) == pytest.approx(math.sqrt(20 * 100))


def test_a_peer_without_settings_that_keep_the_budget_is_said_so() -> None:
    found = outcome_of({"detector": "KSWIN", "kind": "tuned", "tuning_days": 60})
    assert (found.name, found.days) == ("river KSWIN, tuned", 0.0)
    assert "60 days" in found.note


def test_the_whole_report_is_built_in_tiny_form() -> None:
    said: list[str] = []
    results = measure(TINY, said.append, peers=False, jobs=1)
    text = report(results)
    for words in ("Lorden bound, by class", "specwatch, total", "5 sigma, binomial", "x 0.97", "false pages"):
        assert words in text
    for verdict in report_json(results)["aims"]:
        assert verdict["measured"]
    assert said


def _busy(classes: tuple[TrafficClass, ...]) -> Counts:
    days = [simulate_day([21, day], classes, 2, habits=BUSY).counts.sum(axis=1) for day in range(2)]
    return np.concatenate(days)
