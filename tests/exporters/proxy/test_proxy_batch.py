from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.proxy.batch_meter import BatchMeter
from specwatch_exporters.proxy.in_flight import InFlight
from specwatch_exporters.proxy.response_reading import Chunk
from specwatch_exporters.proxy.token_gaps import KEPT, TokenGaps
from specwatch_exporters.proxy.token_tally import TokenTally


def test_the_mean_batch_is_weighted_by_time() -> None:
    meter = BatchMeter()
    mark = meter.mark(10.0)
    meter.join(1, 10.0)
    meter.join(3, 12.0)
    meter.leave(3, 13.0)
    assert meter.size == 1
    assert meter.mean_since(mark, 14.0) == pytest.approx((1 * 2 + 4 * 1 + 1 * 1) / 4)
    assert meter.mean_since(meter.mark(14.0), 14.0) == 1


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.001, 10)), min_size=1, max_size=20))
def test_the_mean_batch_is_the_sum_of_overlaps(spans: list[tuple[float, float]]) -> None:
    changes = sorted([(start, 1) for start, _ in spans] + [(start + length, -1) for start, length in spans])
    meter = BatchMeter()
    mark = meter.mark(0.0)
    for at, change in changes:
        if change > 0:
            meter.join(1, at)
        else:
            meter.leave(1, at)
    end = changes[-1][0]
    assert meter.size == 0
    assert meter.mean_since(mark, end) * end == pytest.approx(sum(length for _, length in spans))


def test_the_oldest_waiting_is_the_first_that_has_no_token() -> None:
    now = [100.0]
    flights = InFlight(lambda: now[0])
    flights.arrive("a", "code", 90.0, waits=True)
    flights.arrive("b", "code", 95.0, waits=True)
    flights.arrive("c", "chat", 96.0, waits=False)
    assert flights.snapshot() == [("chat", 1, 0.0), ("code", 2, 10.0)]
    flights.first_token("a", "code")
    assert flights.snapshot() == [("chat", 1, 0.0), ("code", 2, 5.0)]
    flights.leave("b", "code")
    flights.leave("c", "chat")
    assert flights.snapshot() == [("chat", 0, 0.0), ("code", 1, 0.0)]
    assert flights.total == 1


def test_in_flight_exports_both_gauges_per_class() -> None:
    flights = InFlight(lambda: 3.0)
    flights.arrive("a", "code", 1.0, waits=True)
    found = {
        (family.name, found.labels["traffic_class"]): found.value
        for family in flights.collect()
        for found in family.samples
    }
    assert found == {
        ("specwatch_request_in_flight", "code"): 1,
        ("specwatch_request_oldest_waiting_seconds", "code"): 2.0,
    }
    assert [family.samples for family in flights.describe()] == [[], []]


CHUNKS = st.lists(st.tuples(st.floats(0, 2), st.integers(1, 5), st.integers(0, 8)), max_size=60)


@given(CHUNKS, st.integers(0, 500))
def test_every_token_is_given_out_once_and_no_time_is_lost(
    chunks: list[tuple[float, int, int]], tokens: int
) -> None:
    gaps = TokenGaps()
    for gap, events, batch in chunks:
        gaps.add(gap, events, batch)
    samples = list(gaps.samples(tokens))
    if not chunks or not tokens:
        assert samples == []
        return
    assert sum(one.tokens for one in samples) == tokens
    assert sum(one.gap for one in samples) == pytest.approx(sum(gap for gap, _, _ in chunks))
    assert all(one.tokens >= 0 for one in samples)
    assert [one.batch for one in samples] == [batch for _, _, batch in chunks]


def test_a_chunk_of_n_tokens_after_a_gap_g_is_n_tokens_of_g_over_n() -> None:
    gaps = TokenGaps()
    for gap in (0.030, 0.010, 0.020):
        gaps.add(gap, 1, 0)
    exact = list(gaps.samples(7, (3, 1, 3)))
    assert [one.tokens for one in exact] == [3, 1, 3]
    assert [one.value for one in exact] == pytest.approx([0.01, 0.01, 0.02 / 3])
    even = list(gaps.samples(6))
    assert [one.tokens for one in even] == [2, 2, 2]
    assert [one.value for one in even] == pytest.approx([0.015, 0.005, 0.01])


@pytest.mark.parametrize(
    ("per_event", "tokens", "expected"),
    [
        ((3, 1, 3), 7, [3, 1, 3]),
        ((3, 1, 3), 5, [3, 1, 1]),  # the end of the answer cut the last step
        ((3, 1, 3), 9, [3, 3, 3]),  # more tokens than the steps tell: they are another count
        ((3, 3, 1), 2, [1, 0, 1]),  # fewer than all but the last: likewise
        ((7,), 7, [2, 3, 2]),
    ],
)
def test_steps_are_used_only_if_they_fit(per_event: tuple[int, ...], tokens: int, expected: list[int]) -> None:
    gaps = TokenGaps()
    for _ in range(3):
        gaps.add(0.01, 1, 0)
    given_out = [one.tokens for one in gaps.samples(tokens, per_event)]
    assert given_out == expected or sum(given_out) == sum(expected) == tokens


def test_long_answers_are_summed_up_behind_the_limit() -> None:
    gaps = TokenGaps()
    for number in range(KEPT + 100):
        gaps.add(0.5, 1, number % 2)
    samples = list(gaps.samples(2 * (KEPT + 100)))
    assert len(samples) == KEPT + 2
    assert sum(one.tokens for one in samples) == 2 * (KEPT + 100)
    assert {round(one.value, 9) for one in samples} == {0.25}


def test_tokens_that_chunks_tell_are_not_given_out_again() -> None:
    tally = TokenTally()
    assert tally.first(Chunk(1, 3), "1") == 2
    tally.more(Chunk(2, 4), 0.01, "1")
    tally.more(Chunk(1, None), 0.02, "2")
    (left,) = tally.samples(12, ())
    assert (left.tokens, left.batch) == (5, 1)


def test_tokens_in_the_same_read_as_the_first_have_no_gap() -> None:
    tally = TokenTally()
    assert tally.first(Chunk(3, None), "1") == 0
    tally.more(Chunk(1, None), 0.02, "1")
    samples = tally.samples(4, (0, 0, 0))
    assert [(one.tokens, one.gap) for one in samples] == [(2, 0.0), (1, 0.02)]
    assert all(before.value <= after.value for before, after in pairwise(samples))
