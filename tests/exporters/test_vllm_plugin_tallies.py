from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from specwatch_exporters.request_histogram import WeightedHistogram
from specwatch_exporters.vllm_plugin.batch_tally import BatchTally, Edges
from specwatch_exporters.vllm_plugin.bucket_tally import BucketTally
from specwatch_exporters.vllm_plugin.draft_tally import DraftTally, accepted_lengths

EDGES = (0.01, 0.02, 0.05, 0.1)
SAME = Edges(EDGES, EDGES, EDGES, EDGES, EDGES)
# Values on, just beside and far from the edges.
SECONDS = st.one_of(st.floats(0, 1), st.sampled_from([*EDGES, math.nextafter(0.02, 0), math.nextafter(0.02, 1)]))


def observed(values: list[float]) -> tuple[list[float], float]:
    """Counts per bucket and sum, as `observe` keeps them."""
    registry = CollectorRegistry()
    histogram = WeightedHistogram("h", "h", buckets=EDGES, registry=registry)
    for value in values:
        histogram.observe(value)
    cumulative = [registry.get_sample_value("h_bucket", {"le": str(edge)}) or 0.0 for edge in (*EDGES, "+Inf")]
    before = [0.0, *cumulative[:-1]]
    total = registry.get_sample_value("h_sum")
    assert total is not None
    return [after - prior for prior, after in zip(before, cumulative, strict=True)], total


@given(st.lists(SECONDS, min_size=1, max_size=40))
def test_a_tally_holds_what_a_histogram_would(values: list[float]) -> None:
    counts, total = observed(values)
    at_once, one_by_one = BucketTally(EDGES), BucketTally(EDGES)
    assert at_once.add_all(values) == pytest.approx(total)
    for value in values:
        one_by_one.add(value)
    for tally in (at_once, one_by_one):
        assert tally.counts == counts
        assert tally.total == pytest.approx(total)
        assert not tally.empty


def test_an_untouched_tally_is_empty() -> None:
    assert BucketTally(EDGES).empty


@pytest.mark.parametrize(
    ("drafts", "accepted", "lengths"),
    [
        (0, (), [0]),
        (5, (), [5]),
        (5, (3, 1), [2, 2, 1]),
        (5, (5, 5), [0, 0, 5]),
        (5, (0, 0, 0), [5, 0, 0, 0]),
    ],
)
def test_lengths_follow_from_the_positions(drafts: int, accepted: tuple[int, ...], lengths: list[int]) -> None:
    assert accepted_lengths(drafts, accepted) == lengths


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=6))
def test_draft_counts_add_up_over_steps(steps: list[list[int]]) -> None:
    tally = DraftTally()
    for step in steps:
        positions = [sum(kept > at for kept in step) for at in range(4)]
        tally.add(len(step), 4 * len(step), sum(step), positions, [len(step)] * 4)
    every = [kept for step in steps for kept in step]
    assert (tally.drafts, tally.draft_tokens, tally.accepted_tokens) == (len(every), 4 * len(every), sum(every))
    assert sum(tally.accepted) == sum(every)
    assert tally.lengths()[: max(every, default=0) + 1] == [
        every.count(kept) for kept in range(max(every, default=0) + 1)
    ]


def test_positions_may_grow_between_steps_and_be_unknown() -> None:
    tally = DraftTally()
    tally.add(1, 1, 1, (1,), ())
    tally.add(2, 5, 3, (2, 1, 0), ())
    assert (tally.accepted, tally.drafted) == ([3, 1, 0], [])


def tokens_of(tally: BatchTally) -> int:
    return sum(tally.token.counts)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=32),
    st.floats(0.001, 2.0),
)
def test_per_token_time_is_exact_when_all_waited_for_the_same_step(
    outputs: list[tuple[bool, int]], gap: float
) -> None:
    """Each output is (drafted or not, accepted tokens if so); n tokens after a gap g are n samples of g / n."""
    sizes = [kept + 1 if drafted else 1 for drafted, kept in outputs]
    kept = [kept for drafted, kept in outputs if drafted]
    wanted = BucketTally(EDGES)
    for size in sizes:
        wanted.add(gap / size, size)
    tally = BatchTally(SAME)
    positions = [sum(one > at for one in kept) for at in range(4)]
    tally.add_tokens(gap * len(sizes), len(sizes), sum(sizes), len(kept), positions)
    # A value that lands on an edge may fall to either side of it: the mean of equal gaps is rounded once more.
    assert sum(tally.token.counts) == sum(wanted.counts)
    assert tally.token.total == pytest.approx(wanted.total)
    if all(abs(gap / size - edge) > 1e-9 for size in sizes for edge in EDGES):
        assert tally.token.counts == wanted.counts


@pytest.mark.parametrize(
    ("tokens", "drafts", "accepted"),
    [
        (5, 2, (2, 1)),  # a stop cut one of the 3 + 3 tokens off
        (9, 4, (4, 2)),  # two of the four drafts went to another API server
        (3, 0, ()),  # more tokens than outputs, and no drafts known
    ],
)
def test_counts_that_do_not_fit_give_the_mean(tokens: int, drafts: int, accepted: tuple[int, ...]) -> None:
    tally = BatchTally(SAME)
    tally.add_tokens(0.09, 3, tokens, drafts, accepted)
    assert tokens_of(tally) == tokens
    assert tally.token.total == pytest.approx(0.09)
    assert sorted(tally.token.counts)[:-1] == [0] * len(EDGES)


def test_a_step_without_tokens_has_no_time_per_token() -> None:
    tally = BatchTally(SAME)
    tally.add_tokens(0.09, 3, 0, 0, ())
    assert tally.token.empty


def test_an_answer_that_broke_off_has_no_end_to_end_time() -> None:
    tally = BatchTally(SAME)
    for outcome in ("stop", "length", "repetition", "abort", "error"):
        tally.add_request(outcome, 10, 5, 0.03, 0.02)
    assert sum(tally.e2e.counts) == 3
    assert sum(tally.queue_wait.counts) == 5


def test_a_queue_wait_that_was_not_measured_is_no_sample() -> None:
    tally = BatchTally(SAME)
    for queued_s in (0.0, -1.5, 0.03):
        tally.add_request("length", 10, 5, queued_s, 1.0)
    assert tally.queue_wait.counts == [0, 0, 1, 0, 0]
    assert sum(tally.e2e.counts) == 3
    assert tally.outcomes == {"length": 3}
    assert (tally.prompt_tokens, tally.output_tokens) == (30, 15)
