"""The chain CUSUM's guarantees by exact enumeration, and its reach at any volume."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Q, Traffic, every_outcome, expected
from specwatch_detectors.chain import information
from specwatch_detectors.chain_cusum import ChainCusum
from specwatch_detectors.threshold import lorden_delay, optimal_delay
from specwatch_detectors.window import NOTHING, window

CHAINS = [(0.7,), (0.05,), (0.98,), (0.3, 0.9), Q, (0.95, 0.9, 0.99)]
RATIOS = [0.97, 0.93, 0.8, 0.5, 1.03]


def cusum(
    ratio: float = 0.93, *, q: Sequence[float] = Q, design: float = 3.0, threshold: float = 13.56
) -> ChainCusum:
    return ChainCusum(q, ratio=ratio, design=design, threshold=threshold)


@pytest.mark.parametrize("q", CHAINS)
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("design", [1.0, 2.0, 45.0])
@pytest.mark.parametrize("drafts", [1, 2, 5])
def test_the_likelihood_ratio_is_at_most_one_on_average(
    q: tuple[float, ...], ratio: float, design: float, drafts: int
) -> None:
    """E0[exp(l)] <= 1, over every outcome; only the clip downwards, with very few drafts, adds a trace."""
    test = cusum(ratio, q=q, design=design)
    found = sum(share * math.exp(test.increment(result)) for result, share in every_outcome(drafts, q))
    assert found <= (1.0 + 1e-3 if design == 1.0 else 1.0 + 1e-9)


@pytest.mark.parametrize("ratio", RATIOS)
def test_an_unclipped_increment_is_the_tempered_log_likelihood_ratio(ratio: float) -> None:
    q = (0.6, 0.5)
    for result, share in every_outcome(3, q):
        (other,) = [p for w, p in every_outcome(3, [ratio * value for value in q]) if w == result]
        assert cusum(ratio, q=q, design=45.0).increment(result) == pytest.approx(math.log(other / share) / 45.0)


@pytest.mark.parametrize("effective", [1.0, 10.0, 1e2, 1e3, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("ratio", [0.97, 0.93, 0.9, 0.8])
@pytest.mark.parametrize("design", [2.0, 45.0])
def test_a_drop_of_its_size_or_larger_is_evidence_at_any_volume(
    effective: float, ratio: float, design: float
) -> None:
    """The clip is a limit on noise; it must not turn the evidence of a large volume round."""
    drafts, test = effective * design, cusum(ratio, design=design)
    assert test.increment(expected(drafts)) < 0.0
    at = test.increment(expected(drafts, factor=ratio))
    assert at == pytest.approx(effective * information([ratio * v for v in Q], Q), rel=1e-6)
    for factor in (0.9 * ratio, 0.5, 0.05):
        assert test.increment(expected(drafts, factor=factor)) > 0.0


def test_a_change_of_less_than_half_its_size_is_none() -> None:
    test = cusum(0.93)
    assert test.increment(expected(1e6, factor=0.97)) < 0.0
    assert test.increment(expected(1e6, factor=1.1)) < 0.0


@pytest.mark.parametrize("factor", [0.0, 0.5])
def test_one_interval_at_ordinary_volume_is_clipped_below_an_alarm(factor: float) -> None:
    test = cusum(0.97, design=45.0)
    assert 0.0 < test.update(expected(2000, factor=factor)) < 1.0


def test_no_drafts_are_no_evidence() -> None:
    test = cusum()
    test.update(expected(5000, factor=0.9))
    before = test.evidence
    assert before > 0.0
    test.update(NOTHING)
    assert test.evidence == before


def test_any_depth_counts_with_the_positions_that_were_verified() -> None:
    test = cusum()
    whole = test.increment(expected(300))
    assert test.increment(window(300, expected(300).accepted[:2])) > whole
    assert test.increment(window(300, (*expected(300).accepted, 50.0, 40.0))) == pytest.approx(whole)


@given(st.floats(0.0, 1e9), st.lists(st.floats(0.0, 1e9), max_size=8), st.sampled_from(RATIOS), st.floats(1.0, 1e4))
def test_no_volume_breaks_it(drafts: float, accepted: list[float], ratio: float, design: float) -> None:
    test = cusum(ratio, design=design)
    score = test.update(window(drafts, accepted))
    assert math.isfinite(score)
    assert score >= 0.0


@given(st.lists(st.floats(0.5, 1.1), max_size=20), st.lists(st.floats(0.5, 1.1), max_size=20))
def test_it_goes_on_from_its_state(before: list[float], after: list[float]) -> None:
    first = cusum()
    for factor in before:
        first.update(expected(1000, factor=factor))
    second = ChainCusum(Q, ratio=0.93, design=3.0, threshold=13.56, state=first.state())
    assert [first.update(expected(1000, factor=f)) for f in after] == [
        second.update(expected(1000, factor=f)) for f in after
    ]


def test_reset_forgets() -> None:
    test = cusum()
    test.update(expected(1000, factor=0.5))
    test.reset()
    assert test.state() == {"evidence": 0.0}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"ratio": 1.0}, "ratio"),
        ({"ratio": 0.0}, "ratio"),
        ({"design": 0.9}, "design"),
        ({"threshold": 0.0}, "thres"),
    ],
)
def test_parameters_out_of_range_are_refused(change: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        ChainCusum(Q, **{"ratio": 0.93, "design": 2.0, "threshold": 5.0, **change})


def test_false_alarms_keep_the_bound_and_delays_come_near_theirs() -> None:
    """Requests that differ, at a low threshold: run length at least exp(h), delay near the optimum."""
    threshold, runs = 3.0, 150
    lengths = [_alarm_after(seed, threshold, factor=1.0) for seed in range(runs)]
    assert sum(lengths) / runs >= math.exp(threshold)
    delays = [_alarm_after(1000 + seed, threshold, factor=0.93) for seed in range(runs)]
    traffic = Traffic(0)
    rate = traffic.drafts / traffic.design * information((0.7 * 0.93,), (0.7,))
    assert optimal_delay(math.exp(threshold), rate) * 0.8 <= sum(delays) / runs
    assert sum(delays) / runs <= 2.5 * max(2.0, lorden_delay(math.exp(threshold), rate))  # an alarm takes two


def _alarm_after(seed: int, threshold: float, factor: float) -> int:
    traffic = Traffic(seed)
    test = cusum(0.93, q=(0.7,), design=traffic.design, threshold=threshold)
    for interval in range(1, 400):
        if test.update(traffic.interval(factor=factor)) >= 1.0:
            return interval
    return 400
