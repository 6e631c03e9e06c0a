"""Wald's test of a deploy: its error rates, by simulation with fixed seeds, and its ways to end."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Q, Traffic, expected, without_positions
from specwatch_detectors import chain
from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.deploy_test import LIMIT, RATIO, DeployTest, Verdict
from specwatch_detectors.mean_cusum import MeanCusum
from specwatch_detectors.window import NOTHING, Window, window


def wald(q: tuple[float, ...] = Q, design: float = 10.0, **settings: Any) -> DeployTest:
    return DeployTest(ChainCusum(q, ratio=RATIO, design=design, threshold=1.0), **settings)


def verdicts(factor: float, runs: int, error: float) -> list[Verdict]:
    found: list[Verdict] = []
    for seed in range(runs):
        traffic = Traffic(seed, requests=10)
        test = wald((0.7,), traffic.design, error=error, limit=math.inf)
        while test.verdict is Verdict.OPEN:
            test.update(traffic.interval(factor=factor))
        found.append(test.verdict)
    return found


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, Verdict.WORSE), (RATIO, Verdict.AS_GOOD)])
def test_errors_are_no_more_than_asked_for(factor: float, wrong: Verdict) -> None:
    """At an asked 5 %, 400 deploys: at most 5 % and three standard errors, about 8 %."""
    assert verdicts(factor, 400, 0.05).count(wrong) <= 33


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, Verdict.AS_GOOD), (1.05, Verdict.AS_GOOD), (0.9, Verdict.WORSE), (0.1, Verdict.WORSE)],
)
@pytest.mark.parametrize("drafts", [2000.0, 13_328.0, 1e6, 1e9])
def test_clear_cases_end_in_a_few_intervals_at_any_volume(factor: float, verdict: Verdict, drafts: float) -> None:
    test = wald()
    for _ in range(8):
        test.update(expected(drafts, factor=factor))
    assert test.verdict is verdict


def test_it_needs_fewer_intervals_than_a_cusum() -> None:
    test, cusum = wald(design=45.0), ChainCusum(Q, ratio=RATIO, design=45.0, threshold=13.56)
    drop = expected(2000, factor=RATIO)
    needed = {"wald": 0, "cusum": 0}
    while test.verdict is Verdict.OPEN:
        needed["wald"] += 1
        test.update(drop)
    while cusum.update(drop) < 1.0:
        needed["cusum"] += 1
    assert 3 * needed["wald"] < 2 * needed["cusum"]


def test_a_change_between_the_two_stays_undecided() -> None:
    test = wald(design=45.0)
    half = expected(500, factor=0.949)
    for interval in range(int(LIMIT)):
        assert test.verdict is Verdict.OPEN, interval
        test.update(half)
    assert test.verdict is Verdict.UNDECIDED


def test_intervals_without_drafts_do_not_count() -> None:
    test = wald()
    for _ in range(1000):
        test.update(NOTHING)
    assert test.state() == {"evidence": 0.0, "intervals": 0.0}
    assert test.verdict is Verdict.OPEN


def test_decided_stays_decided() -> None:
    test = wald()
    while test.verdict is Verdict.OPEN:
        test.update(expected(5000, factor=0.8))
    kept = test.state()
    test.update(expected(1e6))
    assert (test.verdict, test.state()) == (Verdict.WORSE, kept)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_another_depth_is_tested_on_the_positions_that_both_have(depth: int) -> None:
    longer = (*Q, 0.6, 0.6)[:depth]
    good, bad = wald(), wald()
    for _ in range(40):
        good.update(expected(5000, longer))
        bad.update(expected(5000, longer, 0.85))
    assert (good.verdict, bad.verdict) == (Verdict.AS_GOOD, Verdict.WORSE)


def test_engines_without_positions_are_tested_on_the_mean() -> None:
    mean = chain.mean_accepted(Q)
    found = []
    for factor in (1.0, RATIO):
        test = DeployTest(MeanCusum(mean, depth=3, ratio=RATIO, design=10.0, threshold=1.0))
        for _ in range(30):
            test.update(without_positions(expected(5000, factor=factor)))
        found.append(test.verdict)
    assert found == [Verdict.AS_GOOD, Verdict.WORSE]


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1)), max_size=30), st.integers(0, 30))
def test_it_goes_on_from_its_state(seen: list[tuple[float, float]], cut: int) -> None:
    windows: list[Window] = [window(drafts, [drafts * share, drafts * share / 2]) for drafts, share in seen]
    whole, first = wald(), wald()
    for each in windows[:cut]:
        first.update(each)
    second = wald(state=first.state())
    assert second.verdict is first.verdict
    for each in windows[cut:]:
        second.update(each)
    for each in windows:
        whole.update(each)
    assert (second.state(), second.verdict) == (whole.state(), whole.verdict)
    second.reset()
    assert second.verdict is Verdict.OPEN


@pytest.mark.parametrize("error", [0.0, 0.5, 1.0])
def test_an_error_out_of_range_is_refused(error: float) -> None:
    with pytest.raises(ValueError, match="error"):
        wald(error=error)
