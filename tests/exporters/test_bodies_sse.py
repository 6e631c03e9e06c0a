"""The event decoder: same events however the bytes are split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.bodies.sse import SseDecoder, SseOverflowError


def decode(*chunks: bytes) -> list[str]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.close()]


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\n\r\ndata: b\r\n\n", ["a", "b"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"\xef\xbb\xbf\ndata: a\n\n", ["a"]),
        (b": ping\n\n:\n\ndata: a\n\n", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
        (b"data\n\ndata:\n\n", ["", ""]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", ["a"]),
        (b"event: x\n\n", []),
        (b"datas: a\n\n", []),
        (b"data: a\n\n\n\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a", ["a"]),
        (b"data: a\n", ["a"]),
        (b"data: [DONE]\n\n", ["[DONE]"]),
        ("data: \u00e9\u4e2d\U0001f600\n\n".encode(), ["\u00e9\u4e2d\U0001f600"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        ("data: a\u2028b\x0bc\n\n".encode(), ["a\u2028b\x0bc"]),
        (b"", []),
    ],
)
def test_streams(stream: bytes, events: list[str]) -> None:
    assert decode(stream) == events
    assert decode(*[stream[i : i + 1] for i in range(len(stream))]) == events


LINES = st.sampled_from(
    [b"data: a", b"data: \xe4\xb8\xad", b"data:", b": c", b"", b"", b"id: 1", b"\xef\xbb\xbfdata: x"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@settings(deadline=None)
@given(st.lists(st.tuples(LINES, ENDS), max_size=12), st.lists(st.integers(0, 500), max_size=12))
def test_any_split_of_lines_gives_the_same_events(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    data = b"".join(line + end for line, end in lines)
    assert decode(*split(data, cuts)) == decode(data)


@settings(deadline=None)
@given(st.binary(max_size=200), st.lists(st.integers(0, 500), max_size=12))
def test_any_split_of_any_bytes_gives_the_same_events(data: bytes, cuts: list[int]) -> None:
    assert decode(*split(data, cuts)) == decode(data)


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), max_size=8),
    ENDS,
)
def test_what_is_sent_is_what_is_received(events: list[str], end: bytes) -> None:
    stream = b"".join(b"data: " + event.encode() + end + end for event in events)
    assert decode(stream) == events


def test_events_come_as_soon_as_they_end() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\ndata: b\r") == ["a"]
    assert decoder.feed(b"\n\r") == ["b"]
    assert decoder.feed(b"\ndata: c\n\n") == ["c"]


def test_an_endless_event_is_refused_with_its_limit() -> None:
    decoder = SseDecoder(limit=100)
    for _ in range(6):
        decoder.feed(b"data: " + b"x" * 10)
    with pytest.raises(SseOverflowError, match="exceeds 100 bytes"):
        decoder.feed(b"data: " + b"x" * 10)


def test_many_lines_of_one_event_count_together() -> None:
    decoder = SseDecoder(limit=100)
    for _ in range(9):
        decoder.feed(b"data: 12345\n")
    with pytest.raises(SseOverflowError):
        decoder.feed(b"data: 12345\n")


def test_comments_and_events_that_ended_do_not_count() -> None:
    decoder = SseDecoder(limit=100)
    for _ in range(100):
        decoder.feed(b": keep-alive\n")
        assert decoder.feed(b"data: x\n\n") == ["x"]
