from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.histogram import quantile, summarise

INF = math.inf


@pytest.mark.parametrize(
    ("buckets", "share", "expected"),
    [
        ({0.05: 4, 0.075: 295, 0.1: 299, INF: 299}, 0.5, 0.0625),
        ({0.05: 4, 0.075: 295, 0.1: 299, INF: 299}, 0.99, 0.0813125),
        ({0.3: 10, INF: 10}, 0.5, 0.15),
        ({0.3: 0, 1.0: 0, INF: 5}, 0.5, 1.0),
        ({0.3: 0, INF: 0}, 0.5, None),
        ({0.3: 4}, 0.5, None),
        ({}, 0.5, None),
        ({1.0: 5, 2.0: 3, INF: 10}, 0.4, 0.8),
    ],
)
def test_quantile_follows_prometheus(buckets: dict[float, float], share: float, expected: float | None) -> None:
    assert quantile(buckets, share) == (expected if expected is None else pytest.approx(expected, abs=1e-4))


def test_a_quantile_in_the_first_bucket_is_unknown() -> None:
    """133 queue waits of 10 microseconds in buckets from 0.3 s: interpolation would say 150 ms."""
    latency = summarise({0.3: 133, 0.5: 133, INF: 133}, 133 * 1e-5, 133)
    assert (latency.p50, latency.p99) == (None, None)
    assert latency.p50_limits == latency.p99_limits == (0.0, 0.3)
    assert latency.mean == pytest.approx(1e-5)


@given(
    st.lists(
        st.tuples(st.floats(0.001, 100), st.integers(0, 50)), min_size=1, max_size=12, unique_by=lambda b: b[0]
    ),
    st.floats(0, 1),
)
def test_quantile_lies_within_the_edges(rows: list[tuple[float, int]], share: float) -> None:
    buckets: dict[float, float] = {}
    total = 0
    for edge, count in sorted(rows):
        total += count
        buckets[edge] = total
    buckets[INF] = total
    value = quantile(buckets, share)
    assert (value is None) == (total == 0)
    assert value is None or 0 <= value <= max(edge for edge, _ in rows)


def test_a_quantile_beyond_the_last_edge_is_unknown_and_over_it() -> None:
    latency = summarise({0.3: 4, INF: 10}, 50.0, 10)
    assert (latency.p50, latency.p50_limits) == (None, (0.3, None))
    overload = summarise({0.3: 0, 1.0: 0, INF: 10}, 50.0, 10)
    assert (overload.p99, overload.p99_limits) == (None, (1.0, None))
