"""Requests that are too large to read, or coded: whether they wait for a first token is known all the same."""

from __future__ import annotations

import gzip
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.proxy.fake_sides import Wiring
from exporters.proxy.proxy_rig import CHAT
from specwatch_exporters.proxy.request_reading import StreamSearch

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
PROMPT = b'"messages": [{"role": "user", "content": "' + b"x" * (2 << 20) + b'"}]'
STREAM = b'"stream" : true'
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%b\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


def sent(body: bytes, *fields: bytes) -> bytes:
    lines = (b"POST %b HTTP/1.1" % CHAT.encode(), b"Host: a", b"Content-Length: %d" % len(body), *fields, b"", b"")
    return b"\r\n".join(lines) + body


def oldest(wiring: Wiring) -> float:
    return max((age for _, _, age in wiring.observer.in_flight.snapshot()), default=0.0)


STREAMS = {
    "in front": b"{" + STREAM + b"," + PROMPT + b"}",
    "behind": b"{" + PROMPT + b", " + STREAM + b"}",
    "in the middle": b"{" + PROMPT + b"," + STREAM + b"," + PROMPT + b"}",
    "told twice": b"{" + STREAM + b"," + PROMPT + b"," + STREAM + b"}",
}
NO_STREAMS = {
    "nowhere": b"{" + PROMPT + b"}",
    "false": b"{" + PROMPT + b', "stream": false}',
    "said only": b'{"content": "' + b"x" * (1 << 20) + b' \\"stream\\": true"}',
}


@pytest.mark.parametrize("step", [1 << 16, 1 << 18, 1 << 30])
@pytest.mark.parametrize(
    ("body", "waits"),
    [*((body, True) for body in STREAMS.values()), *((body, False) for body in NO_STREAMS.values())],
    ids=[*STREAMS, *NO_STREAMS],
)
def test_a_large_request_waits_if_it_is_streamed(body: bytes, waits: bool, step: int) -> None:
    data = sent(body)
    with Wiring() as wiring:
        for start in range(0, len(data), step):
            wiring.client.data_received(data[start : start + step])
        assert (oldest(wiring) > 0) is waits
        assert wiring.observer.batch.size == (0 if waits else 1)
        wiring.engines[0].connection.data_received(SSE % b"" + TEXT)
        assert oldest(wiring) == 0
        assert wiring.observer.batch.size == 1
        assert wiring.unread("request_too_large") == 1
    wiring.assert_nothing_is_left()


@pytest.mark.parametrize("body", [b'{"stream": true}', b"{}"])
def test_a_coded_request_waits_until_its_answer_says_otherwise(body: bytes) -> None:
    data = sent(gzip.compress(body), b"Content-Encoding: gzip")
    with Wiring() as wiring:
        wiring.client.data_received(data)
        assert oldest(wiring) > 0
        assert wiring.observer.batch.size == 0
        wiring.engines[0].connection.data_received(SSE % b"" + TEXT if b"true" in body else WHOLE)
        assert oldest(wiring) == 0
        assert wiring.observer.batch.size == 1
        assert wiring.unread("request_encoding") == 1
    wiring.assert_nothing_is_left()


@pytest.mark.parametrize(
    "answer",
    [WHOLE, SSE % b"Content-Encoding: br\r\n" + b"?", SSE % b"Content-Encoding: gzip\r\n" + b"no gzip"],
    ids=["not streamed", "coding unknown", "damaged"],
)
def test_nobody_waits_for_text_that_cannot_be_seen(answer: bytes) -> None:
    with Wiring() as wiring:
        wiring.client.data_received(sent(b'{"stream": true}'))
        assert oldest(wiring) > 0
        wiring.engines[0].connection.data_received(answer)
        assert oldest(wiring) == 0
        assert wiring.observer.batch.size == 1
        assert wiring.observer.in_flight.total == 1
    wiring.assert_nothing_is_left()


def test_an_error_is_no_end_of_waiting() -> None:
    with Wiring() as wiring:
        wiring.client.data_received(sent(b'{"stream": true}'))
        wiring.engines[0].connection.data_received(WHOLE.replace(b"200 OK", b"500 No"))
        assert wiring.observer.batch.size == 0
    wiring.assert_nothing_is_left()


@given(st.integers(0, 300), st.integers(0, 300), st.lists(st.integers(1, 60), max_size=20), st.booleans())
def test_a_search_finds_it_wherever_the_parts_are_cut(
    before: int, behind: int, steps: list[int], escaped: bool
) -> None:
    said = rb"\"stream\": true" if escaped else STREAM
    body = b" " * before + said + b" " * behind
    search = StreamSearch()
    cuts = [0, *accumulate(steps), len(body)]
    for start, end in pairwise(cuts):
        search.feed(body[start:end])
    assert search.found is not escaped
