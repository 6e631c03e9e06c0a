from __future__ import annotations

import json
from typing import Any

import pytest

from specwatch_bench.figures import figures
from specwatch_bench.request_record import RequestRecord, StreamRecord
from specwatch_exporters.replay.clock import Clock


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    @property
    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now)


def event(tokens: int | None, text: str = "x", **more: Any) -> bytes:
    usage = {} if tokens is None else {"usage": {"prompt_tokens": 9, "completion_tokens": tokens}}
    return b"data: " + json.dumps({"choices": [{"text": text}], **usage, **more}).encode() + b"\n\n"


def test_chunks_have_the_sizes_that_usage_says() -> None:
    hand = Hand()
    stream = StreamRecord(hand.clock)
    for seconds, pieces in (
        (0.5, [event(0, "")]),
        (0.5, [event(1)]),
        (0.25, [event(4), event(6)]),
        (0.125, [event(7)]),
    ):
        hand.now += seconds
        stream.feed(b"".join(pieces))
    hand.now += 0.5
    stream.feed(
        b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 7}, "metrics": {"q": 1}}\n\n'
    )
    stream.feed(b"data: [DONE]\n\n")
    record = stream.record(3, "code", 7, "ok", "", 90.0, 99.75)
    assert stream.complete
    assert record == RequestRecord(
        number=3, traffic_class="code", sent=10_000_000, late=250_000, chunks=(1_000_000, 250_000, 125_000),
        sizes=(1, 5, 1), ended=1_875_000, prompt_tokens=9, tokens=7, asked=7, outcome="ok", metrics={"q": 1},
    )  # fmt: skip
    assert RequestRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_sizes_are_unknown_where_the_engine_does_not_count() -> None:
    hand = Hand()
    stream = StreamRecord(hand.clock)
    for _ in range(3):
        hand.now += 0.1
        stream.feed(event(None))
    stream.feed(b'data: {"choices": [], "usage": {"completion_tokens": 9}}\n\n')
    record = stream.record(0, "chat", 9, "ok", "", 100.0, None)
    assert (record.sizes, record.tokens, len(record.chunks)) == (None, 9, 3)
    assert figures([record], 1.0).tokens == pytest.approx(9)


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"data: 7\n\n", "not a JSON object"), (b'data: {"error": {"message": "full"}}\n\n', "the engine reports")],
)
def test_an_error_inside_a_stream_is_kept(data: bytes, words: str) -> None:
    stream = StreamRecord(Hand().clock)
    stream.feed(data)
    assert words in stream.error


def record(sent: float, chunks: list[float], sizes: list[int], outcome: str = "ok") -> RequestRecord:
    micro = [round(gap * 1e6) for gap in chunks]
    return RequestRecord(
        number=0, traffic_class="chat", sent=round(sent * 1e6), late=None, chunks=tuple(micro), sizes=tuple(sizes),
        ended=sum(micro), prompt_tokens=1, tokens=sum(sizes), asked=sum(sizes), outcome=outcome,
    )  # fmt: skip


def test_figures_count_the_measured_time_only() -> None:
    records = [
        record(-1.0, [0.5, 1.0], [1, 4]),  # warm-up: its second chunk arrives at 0.5 and counts as tokens
        record(0.0, [0.2, 0.4, 0.4], [1, 4, 2]),
        record(1.5, [0.3, 1.0], [1, 3]),  # its second chunk arrives at 2.8, behind the end
        record(1.0, [0.1], [1], "error"),
    ]
    found = figures(records, 2.0)
    assert found.tokens == 4 + 7 + 1 + 1
    assert found.tok_s == pytest.approx(13 / 2)
    assert (found.requests, found.failed) == (2, 1)
    assert [found.ttft_p50, found.ttft_p99] == pytest.approx([200.0, 300.0])
    assert [found.e2e_p50, found.e2e_p99] == pytest.approx([1000.0, 1300.0])
    # tokens behind a first chunk, in time: 4 at 250 ms, 4 at 100 ms, 2 at 200 ms
    assert [found.token_p50, found.token_p99] == pytest.approx([200.0, 250.0])
    assert found.chunk_p99 == pytest.approx(1000.0)
    assert found.tokens_per_chunk == pytest.approx(10 / 3)


def test_nothing_measured_is_unknown_and_not_zero() -> None:
    found = figures([], 0.0)
    assert (found.tok_s, found.ttft_p50, found.token_p99, found.tokens_per_chunk) == (None, None, None, None)
