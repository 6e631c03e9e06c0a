"""Counts of the pools: p99 out of buckets, and what is compared with what."""

from __future__ import annotations

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.actuators.ticking import Ticking
from specwatch_deploy.actuators.health_change import HealthChange
from specwatch_deploy.actuators.pool_figures import BEFORE_S, PoolComparison, PoolFigures
from specwatch_exporters.proxy.pool_ledger import PoolLedger
from specwatch_exporters.request_metrics import Outcome

LATENCIES = st.lists(st.floats(0.0015, 2.0), min_size=1, max_size=300)


def figures(*seconds: float, failed: int = 0) -> PoolFigures:
    ledger = PoolLedger()
    for one in seconds:
        ledger.finished(Outcome.SUCCESS, one, 1)
    for _ in range(failed):
        ledger.finished(Outcome.ERROR)
    return PoolFigures.from_json(ledger.as_json())


@given(LATENCIES)
def test_p99_is_in_the_bucket_of_the_true_one(seconds: list[float]) -> None:
    found = figures(*seconds).p99_s(1)
    true = sorted(seconds)[math.ceil(0.99 * len(seconds)) - 1]
    assert found is not None
    assert true / 1.34 <= found <= true * 1.34


@given(LATENCIES, LATENCIES, st.integers(0, 5))
def test_a_difference_is_what_came_on_top(first: list[float], then: list[float], failed: int) -> None:
    both = figures(*first, *then, failed=failed)
    assert both.since(figures(*first)) == figures(*then, failed=failed)
    assert figures(*first).plus(figures(*then, failed=failed)) == both


def test_nothing_is_made_of_nothing() -> None:
    assert PoolFigures().error_rate is None
    assert PoolFigures().p99_s(1) is None
    assert figures(0.1, 0.1).p99_s(3) is None
    assert figures(99.0).p99_s(1) == pytest.approx(figures(99.0).edges[-2])


def test_outcomes_that_say_nothing_of_the_engine_are_left_out() -> None:
    ledger = PoolLedger()
    for outcome in Outcome:
        ledger.finished(outcome)
    ledger.passed_over = 2
    found = PoolFigures.from_json(ledger.as_json())
    assert (found.ended, found.failed) == (6, 5)


def test_the_histogram_is_cumulative_as_prometheus_has_it() -> None:
    ledger = PoolLedger()
    for value in (0.0001, 0.5, 99.0):
        ledger.finished(Outcome.SUCCESS, value, 1)
    counts = [count for _, count in ledger.buckets()]
    assert counts == sorted(counts) == list(accumulate(ledger.latency_counts))
    assert ledger.buckets()[-1] == ("+Inf", 3)


def steady(comparison: PoolComparison, clock: Ticking, *rounds: dict[str, PoolFigures]) -> None:
    for counts in rounds:
        comparison.see(counts)
        clock.now += 10.0


def test_a_movement_is_compared_with_the_traffic_before_it() -> None:
    clock = Ticking()
    comparison = PoolComparison(clock, 1)
    slow, none = figures(*[0.1] * 50), figures()
    steady(comparison, clock, {"a": none, "b": none}, {"a": slow, "b": none})
    comparison.moved({"a": slow, "b": none}, ["a"], first=True)
    steady(comparison, clock, {"a": slow, "b": figures(*[0.2] * 50)})
    change = comparison.change(["b"])
    assert change is not None
    assert change.requests == 50
    assert change.p99_before_s is not None
    assert change.p99_after_s is not None
    assert change.p99_after_s > 1.5 * change.p99_before_s


def test_a_further_step_is_compared_with_before_the_first() -> None:
    clock = Ticking()
    comparison = PoolComparison(clock, 1)
    start, before = {"a": figures(), "b": figures()}, {"a": figures(*[0.1] * 50), "b": figures()}
    steady(comparison, clock, start, before)
    comparison.moved(before, ["a"], first=True)
    between = {"a": figures(*[0.1] * 50), "b": figures(*[0.2] * 50)}
    steady(comparison, clock, between)
    comparison.moved(between, ["a", "b"], first=False)
    steady(comparison, clock, {**between, "b": figures(*[0.2] * 80)})
    change = comparison.change(["b"])
    p99 = figures(*[0.1] * 50).p99_s(1), figures(*[0.2] * 30).p99_s(1)
    assert change == HealthChange(30, 0.0, 0.0, *p99, unit="s per token")


def test_only_the_last_minutes_are_before() -> None:
    clock = Ticking()
    comparison = PoolComparison(clock, 1)
    old = {"a": figures(*[0.9] * 50)}
    steady(comparison, clock, {"a": figures()}, old)
    clock.now += BEFORE_S
    steady(comparison, clock, old)
    comparison.moved(old, ["a"], first=True)
    change = comparison.change(["a"])
    assert change is not None
    assert change.error_rate_before is None


def test_a_restarted_sidecar_begins_anew() -> None:
    clock = Ticking()
    comparison = PoolComparison(clock, 1)
    full = {"a": figures(*[0.1] * 50)}
    steady(comparison, clock, {"a": figures()}, full)
    comparison.moved(full, ["a"], first=True)
    assert comparison.change(["a"]) is not None
    steady(comparison, clock, {"a": figures(0.1)})
    assert comparison.change(["a"]) is None
