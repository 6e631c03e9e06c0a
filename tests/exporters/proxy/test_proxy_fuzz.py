from __future__ import annotations

import json
from typing import Any

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.proxy.fake_sides import Wiring
from exporters.proxy.proxy_rig import PATIENCE_S, before, connection, eventually, request
from exporters.raw_server import answer
from specwatch_exporters.proxy.api_paths import Api
from specwatch_exporters.proxy.http_head import Headers, ResponseHead
from specwatch_exporters.proxy.parties import Ending
from specwatch_exporters.proxy.response_parser import AnswerError, ResponseParser
from specwatch_exporters.proxy.response_reading import read_response

LINES = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\n",
        b"POST /a HTTP/1.0\r\n",
        b"HEAD /a HTTP/1.1\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n",
        b"GET http://b/ HTTP/1.1\r\n",
        b"POST / HTTP/1.1\n",
    ]
)
FIELDS = st.sampled_from(
    [
        b"Host: a\r\n",
        b"Content-Length: 5\r\n",
        b"content-length: 0\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 5, 5\r\n",
        b"content-length : 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"transfer-encoding: Chunked\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n",
        b"Transfer-Encoding: identity, chunked\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n",
        b"Connection: keep-alive, Content-Length, Transfer-Encoding\r\n",
        b"Connection: close\r\n",
        b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
        b"Expect: 100-continue\r\n",
        b"TE: trailers\r\n",
        b"X: \xff\x80\r\n",
        b"X: a\rGET /smuggled HTTP/1.1\r\n",
        b"X: a\nGET /smuggled HTTP/1.1\r\n",
    ]
)
BODIES = st.sampled_from(
    [
        b"",
        b"hello",
        b"5\r\nhello\r\n0\r\n\r\n",
        b"2\r\nab\r\n5;x=y\r\nGET /\r\n0\r\nX: y\r\n\r\n",
        b"5\r\nhello\r\n0\r\n\n",
        b"FFFFFFFFFFFFFFFFF\r\n",
        b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
        b"\x00",
    ]
)
FRAMED = st.sampled_from(
    [
        (b"Content-Length: 5\r\n", b"hello"),
        (b"Content-Length: 18\r\n", b"GET /smuggled HTTP"),
        (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: Chunked\r\n", b"2\r\nab\r\n5;x=y\r\nGET /\r\n0\r\nX: y\r\n\r\n"),
        (b"", b""),
    ]
)


def message(line: bytes, fields: list[bytes], framed: tuple[bytes, bytes]) -> bytes:
    return line + framed[0] + b"".join(fields) + b"\r\n" + framed[1]


SOUND = st.builds(message, LINES, st.lists(FIELDS, max_size=2), FRAMED)
ONE = st.builds(message, LINES, st.lists(FIELDS, max_size=4), BODIES.map(lambda body: (b"", body)))
STREAMS = st.lists(SOUND | ONE | st.binary(max_size=12), max_size=4).map(b"".join)


class Tape:
    """What a strict server would make of the bytes that it received."""

    def __init__(self, data: bytes) -> None:
        self.requests: list[tuple[bytes, bytes, bytes]] = []
        self.whole = 0
        self._target = self._body = b""
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._target = self._body = b""

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_body(self, data: bytes) -> None:
        self._body += data

    def on_headers_complete(self) -> None:
        self.requests.append((self._parser.get_method(), self._target, b""))

    def on_message_complete(self) -> None:
        self.whole += 1
        self.requests[-1] = (*self.requests[-1][:2], self._body)


@given(STREAMS, st.integers(1, 40))
@settings(max_examples=300)
def test_each_connection_to_the_engine_carries_the_one_request_that_was_read(data: bytes, step: int) -> None:
    with Wiring() as wiring:
        for start in range(0, len(data), step):
            wiring.client.data_received(data[start : start + step])
        for engine in wiring.engines:  # it grows: an answer lets the next request start
            tape = Tape(engine.written)
            if tape.whole and not engine.transport.closed:
                engine.connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            if not engine.written:
                continue  # refused in the same packet as it began
            assert len(tape.requests) == 1
            assert tape.whole <= 1
            method, target, body = tape.requests[0]
            assert (method, target) == engine.expected
            assert engine.written.count(b"smuggled") == (b"smuggled" in target) + body.count(b"smuggled")
    wiring.assert_nothing_is_left()


@given(STREAMS)
@settings(max_examples=150)
def test_however_requests_are_cut_into_packets_the_engine_gets_the_same(data: bytes) -> None:
    def forwarded(step: int) -> list[bytes]:
        with Wiring() as wiring:
            for start in range(0, len(data), step):
                wiring.client.data_received(data[start : start + step])
            tapes = [Tape(engine.written) for engine in wiring.engines]
        return [b" ".join(one) for tape in tapes for one in tape.requests[: tape.whole]]

    assert forwarded(1) == forwarded(max(1, len(data)))


RESPONSE_FRAGMENTS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 103 Early\r\n",
        b"HTTP/1.1 204 No\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"Content-Type: text/event-stream\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"\r\n",
        b"5\r\nhello\r\n",
        b"hello",
        b"0\r\n\r\n",
        b"0\r\nX: y\r\n\r\n",
        b"data: {}\n\n",
    ]
)
ANSWERS = st.lists(RESPONSE_FRAGMENTS | st.binary(max_size=20), max_size=12).map(b"".join)


@given(ANSWERS, st.integers(1, 40), st.sampled_from([b"GET", b"HEAD"]))
@settings(max_examples=300)
def test_any_answer_is_passed_on_or_broken_off(data: bytes, step: int, method: bytes) -> None:
    with Wiring() as wiring:
        wiring.client.data_received(method + b" / HTTP/1.1\r\nHost: a\r\n\r\n")
        engine = wiring.engines[0]
        for start in range(0, len(data), step):
            if not engine.transport.closed:
                engine.connection.data_received(data[start : start + step])
    wiring.assert_nothing_is_left()
    assert wiring.transport.written == b"" or wiring.transport.written.startswith(b"HTTP/1.1 ")


@given(ANSWERS)
def test_however_an_answer_is_cut_into_packets_it_reads_the_same(data: bytes) -> None:
    def parsed(step: int) -> tuple[list[int], bytes, bool, bool]:
        parser = ResponseParser(b"GET", Wiring().limits)
        heads: list[int] = []
        body = b""
        end = failed = False
        for start in range(0, len(data), step):
            try:
                got = parser.feed(data[start : start + step])
            except AnswerError:
                failed = True
                break
            heads += [head.status for head in got.interim] + ([got.head.status] if got.head else [])
            body += got.body
            end = end or got.end
            if end:
                break
        return heads, body, end, failed

    heads, body, end, failed = parsed(1)
    at_once = parsed(max(1, len(data)))
    assert (end, failed) == at_once[2:] or at_once[3], (
        "a late error may hide what came before it in the same packet"
    )
    if not at_once[3]:
        assert (heads, body) == at_once[:2]


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5)
NAMES = st.sampled_from(
    [
        "choices",
        "index",
        "delta",
        "content",
        "text",
        "finish_reason",
        "usage",
        "completion_tokens",
        "prompt_tokens",
        "metrics",
        "speculative_decoding",
        "num_spec_steps",
        "acceptance_histogram",
        "num_draft_tokens",
        "meta_info",
        "type",
        "message",
        "response",
        "model",
        "error",
        "logprobs",
        "tokens",
        "token_ids",
        "queue_time_ms",
        "n",
    ]
)
KINDS = st.sampled_from(["content_block_delta", "message_start", "message_delta", "response.completed", "error"])
OBJECTS = st.recursive(
    LEAVES | KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=15,
)


@given(st.sampled_from(Api), st.lists(OBJECTS, max_size=6), st.binary(max_size=30))
@settings(max_examples=300)
def test_any_events_are_read_without_a_failure(api: Api, found: list[Any], tail: bytes) -> None:
    wiring = Wiring()
    watch = wiring.watch(api)
    watch.request_body(json.dumps(found).encode())
    watch.request_end()
    watch.response_head(ResponseHead(200, b"OK", Headers([(b"Content-Type", b"text/event-stream")])))
    for one in found:
        watch.response_body(b"data: " + json.dumps(one).encode() + b"\n\n")
    watch.response_body(tail)
    watch.ended(Ending.COMPLETE)
    assert wiring.unread("internal") == 0
    assert wiring.observer.batch.size == 0
    assert wiring.observer.in_flight.total == 0


@given(st.sampled_from(Api), OBJECTS)
@settings(max_examples=200)
def test_any_body_is_read_without_a_failure(api: Api, found: Any) -> None:
    wiring = Wiring()
    watch = wiring.watch(api)
    watch.response_head(ResponseHead(200, b"OK", Headers([(b"Content-Type", b"application/json")])))
    watch.response_body(json.dumps(found).encode())
    watch.ended(Ending.COMPLETE)
    assert wiring.unread("internal") == 0


@given(st.sampled_from(Api), st.lists(st.binary(max_size=60), max_size=8))
def test_any_bytes_are_read_without_a_failure(api: Api, parts: list[bytes]) -> None:
    reading = read_response(api, Headers([(b"content-type", b"text/event-stream")]), 1000)
    for part in parts:
        reading.feed(part)
    reading.close()


def test_raw_bytes_on_real_sockets_leave_the_sidecar_at_work(caplog: pytest.LogCaptureFixture) -> None:
    with before(answer(b"ok")) as (_, running):

        @given(STREAMS)
        @settings(max_examples=60)
        def throw(data: bytes) -> None:
            with connection(running.port) as sock:
                sock.sendall(data)

        throw()
        with connection(running.port) as sock:
            sock.settimeout(PATIENCE_S)
            sock.sendall(request("/still-alive"))
            assert sock.recv(100).startswith(b"HTTP/1.1 200 OK")
        eventually(lambda: running.service.client_count == 0)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
