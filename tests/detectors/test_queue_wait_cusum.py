"""The share of requests that waits long: edges from a histogram, evidence from counts."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.drafting import Traffic
from specwatch_detectors.queue_wait_cusum import LEAST_SHARE, QueueWaitCusum, Waits, tail_edge, waits_beyond

BUCKETS = {0.001: 700.0, 0.01: 900.0, 0.1: 970.0, 1.0: 999.0, math.inf: 1000.0}


def cusum(share: float = 0.03, ratio: float = 2.0, design: float = 10.0) -> QueueWaitCusum:
    return QueueWaitCusum(share, ratio=ratio, design=design, threshold=13.56)


@pytest.mark.parametrize(
    ("buckets", "edge"),
    [
        (BUCKETS, (0.1, 0.03)),
        ({0.001: 1000.0, math.inf: 1000.0}, (0.001, 0.0)),
        ({0.3: 10.0, math.inf: 1000.0}, None),
        ({0.3: 0.0, math.inf: 0.0}, None),
        ({0.3: 10.0}, None),
        ({}, None),
    ],
)
def test_the_edge_is_the_lowest_that_few_passed(
    buckets: dict[float, float], edge: tuple[float, float] | None
) -> None:
    found = tail_edge(buckets)
    assert found == (edge if edge is None else pytest.approx(edge))


def test_requests_beyond_an_edge() -> None:
    assert waits_beyond(BUCKETS, 0.1) == Waits(30.0, 1000.0)
    assert waits_beyond(BUCKETS, 0.2) == Waits(0.0, 0.0)
    assert waits_beyond({0.1: 5.0}, 0.1) == Waits(0.0, 0.0)
    assert waits_beyond({0.1: 5.0, math.inf: 4.0}, 0.1) == Waits(0.0, 4.0)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.03, 0.04])
def test_waits_as_before_are_no_evidence(share: float) -> None:
    test = cusum()
    assert [test.update(Waits(1000 * share, 1000)) for _ in range(1000)][-1] == 0.0


@pytest.mark.parametrize("ratio", [2.0, 5.0])
@pytest.mark.parametrize("share", [0.2, 1.0])
@pytest.mark.parametrize("requests", [100.0, 1e4, 1e9])
def test_long_queues_alarm_at_any_volume(ratio: float, share: float, requests: float) -> None:
    test = cusum(ratio=ratio)
    assert [test.update(Waits(share * requests, requests)) for _ in range(60)][-1] >= 1.0


def test_two_waits_on_an_idle_engine_are_not_news() -> None:
    test = cusum(share=0.0)
    assert test.update(Waits(2.0, 2.0)) < 0.5
    assert cusum(share=LEAST_SHARE).update(Waits(2.0, 2.0)) == cusum(share=0.0).update(Waits(2.0, 2.0))


def test_requests_that_wait_together_keep_the_bound() -> None:
    """Waits in bursts (beta-binomial), tempered by their design effect: run length at least exp(h)."""
    lengths = []
    for seed in range(60):
        traffic = Traffic(seed, requests=20, rho=0.1)
        test = QueueWaitCusum(0.05, ratio=2.0, design=traffic.design, threshold=3.0)
        interval = 0
        while interval < 200:
            interval += 1
            kept = traffic.interval(0.05)
            if test.update(Waits(kept.accepted[0], kept.drafts)) >= 1.0:
                break
        lengths.append(interval)
    assert sum(lengths) / len(lengths) >= math.exp(3.0)


@given(st.floats(0.0, 0.499), st.floats(0.0, 1e9), st.floats(0.0, 1e9), st.floats(1.0, 1e4))
def test_no_volume_breaks_it(share: float, longer: float, requests: float, design: float) -> None:
    test = cusum(share, design=design)
    score = test.update(Waits(longer, requests))
    assert math.isfinite(score)
    assert score >= 0.0
    again = QueueWaitCusum(share, ratio=2.0, design=design, threshold=13.56, state=test.state())
    assert again.update(Waits(5.0, 10.0)) == test.update(Waits(5.0, 10.0))
    test.reset()
    assert test.evidence == 0.0


@pytest.mark.parametrize("change", [{"share": 0.5}, {"share": -0.1}, {"ratio": 1.0}])
def test_parameters_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="share must"):
        cusum(**change)
