from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.proxy.proxy_rig import (
    CHAT,
    ask,
    before,
    body_of,
    chunked,
    connection,
    events,
    eventually,
    read_all,
    read_request,
    read_until,
    request,
    sample,
    sidecar,
    sse_head,
)
from exporters.raw_server import Visit
from specwatch_exporters.proxy.http_head import Headers, ResponseHead
from specwatch_exporters.proxy.usage_request import UsageFilter, UsageRequest
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings
from specwatch_exporters.replay.thread import ReplayThread

LIMIT = 1 << 20
USAGE = '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}'
TEXT = '{"choices":[{"index":0,"delta":{"content":"\\"usage\\""}}],"usage":null}'
LAST = '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}'
# Per request: ids and times differ from one request to the next, and so do times of arrival.
VARYING = re.compile(rb'"(?:id|created)":\s*(?:"[^"]*"|\d+)')


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}),
        ({"stream": True, "stream_options": None}, {"stream": True, "stream_options": {"include_usage": True}}),
        ({"stream": True, "stream_options": {}}, {"stream": True, "stream_options": {"include_usage": True}}),
        (
            {"stream": True, "stream_options": {"include_usage": False, "x": 1}},
            {"stream": True, "stream_options": {"include_usage": True, "x": 1}},
        ),
        (
            {"stream": True, "stream_options": {"continuous_usage_stats": True}},
            {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": False}},
        ),
    ],
)
def test_usage_is_asked_for_where_the_client_did_not(body: dict[str, Any], asked: dict[str, Any]) -> None:
    ask_for_it = UsageRequest(LIMIT)
    assert json.loads(ask_for_it.rewrite(json.dumps(body).encode())) == asked
    head = ResponseHead(200, b"OK", Headers([(b"Content-Type", b"text/event-stream")]))
    assert ask_for_it.response_filter(head) is not None


@pytest.mark.parametrize(
    "body",
    [
        b'{"stream": true, "stream_options": {"include_usage": true}}',
        b'{"stream": false}',
        b'{"stream": 1}',
        b"{}",
        b"[]",
        b"no json",
        b"",
        b"[" * 100_000,
        b'{"stream": true, "stream_options": "odd"}',
        b'{"stream": true, "n": 2}',
        b'{"stream": true, "prompt": ["a", "b"]}',
    ],
)
def test_other_requests_stay_as_they_are(body: bytes) -> None:
    leave_it = UsageRequest(LIMIT)
    assert leave_it.rewrite(body) == body
    head = ResponseHead(200, b"OK", Headers([(b"Content-Type", b"text/event-stream")]))
    assert leave_it.response_filter(head) is None


def test_every_other_byte_of_the_request_stays_as_it_is() -> None:
    body = b'  {  "stream" : true, "x": 1.0e5, "x": 2, "y": "\\u00e9" }\n'
    asked = UsageRequest(LIMIT).rewrite(body)
    assert asked.replace(b'"stream_options":{"include_usage":true},', b"") == body


@pytest.mark.parametrize("kind", [b"application/json", b"text/event-stream"])
def test_an_answer_that_cannot_be_read_is_not_filtered(kind: bytes) -> None:
    asked = UsageRequest(LIMIT)
    asked.rewrite(b'{"stream": true}')
    coded = [(b"Content-Type", kind), (b"Content-Encoding", b"gzip")]
    assert asked.response_filter(ResponseHead(200, b"OK", Headers(coded))) is None


@given(
    st.lists(st.sampled_from([TEXT, USAGE, LAST, "[DONE]", "{broken", '{"usage": {}}']), max_size=8),
    st.integers(1, 50),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_only_the_extra_event_is_taken_out(data: list[str], step: int, end: str, closed: bool) -> None:
    def stream(lines: list[str]) -> bytes:
        text = "".join(f": note{end}data: {line}{end}{end}" for line in lines)
        return text.encode()

    sent = stream(data)
    wanted = stream([line for line in data if line != USAGE])
    if not closed and data and data[-1] != USAGE:
        sent, wanted = sent.removesuffix(end.encode()), wanted.removesuffix(end.encode())
    found = UsageFilter()
    got = b"".join(found.feed(sent[start : start + step]) for start in range(0, len(sent), step))
    assert got + found.close() == wanted


STAMPED = '{"choices":[],"usage":{"completion_tokens":2},"system_fingerprint":"vllm-\\"x\\\\"}'


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ([LAST, STAMPED, "[DONE]"], [LAST[:-1] + ',"system_fingerprint":"vllm-\\"x\\\\"}', "[DONE]"]),
        ([LAST, USAGE, "[DONE]"], [LAST, "[DONE]"]),
        ([LAST, TEXT, STAMPED], [LAST, TEXT]),
        ([LAST[:-1] + ',"system_fingerprint":"own"}', STAMPED], [LAST[:-1] + ',"system_fingerprint":"own"}']),
        ([STAMPED, LAST], [LAST]),
    ],
)
def test_the_fingerprint_stands_where_it_would_without_usage(sent: list[str], wanted: list[str]) -> None:
    found = UsageFilter()
    assert found.feed(events(*sent)) + found.close() == events(*wanted)


def test_the_last_text_waits_for_no_more_than_the_next_event() -> None:
    found = UsageFilter()
    assert found.feed(events(TEXT, LAST)) == events(TEXT)
    assert found.feed(events("[DONE]")) == events(LAST, "[DONE]")


def test_an_endless_event_is_not_held_for_ever() -> None:
    found = UsageFilter()
    data = b"data: " + b"x" * (2 << 20)
    assert found.feed(data) == data
    assert found.feed(events(USAGE)) == events(USAGE)


@pytest.mark.parametrize("path", [CHAT, "/v1/completions"])
def test_the_clients_bytes_are_the_same_as_without_the_sidecar(path: str) -> None:
    fields: dict[str, Any] = {"max_tokens": 60, "stream": True}
    fields |= {"messages": [{"role": "user", "content": "x"}]} if path == CHAT else {"prompt": "x"}
    body = json.dumps(fields).encode()
    sent = request(path, body, headers={"Content-Type": "application/json", "X-Request-Id": "same"})
    settings = ReplaySettings(per_request=PerRequest.DETAILED, timings=True, speed=200.0)

    def text(raw: bytes) -> tuple[bytes, bytes]:
        """Head without its date, and body without what differs from one request to the next."""
        head = re.sub(rb"\r\n(?:Date|Server):[^\r]*", b"", raw.partition(b"\r\n\r\n")[0])
        return head, VARYING.sub(b"", body_of(raw))

    with ReplayThread(settings) as engine:
        direct = text(ask(int(engine.url.rpartition(":")[2]), sent))
    with ReplayThread(settings) as engine, sidecar(engine.url, request_usage=True) as running:
        behind = text(ask(running.port, sent))
        eventually(lambda: sample(running, "specwatch_request_finished_total", outcome="success") == 1)
        assert sample(running, "specwatch_request_output_tokens_total") > 0
        assert sample(running, "specwatch_request_drafts_total") > 0
    assert behind == direct
    assert b'"usage"' not in behind[1]


def engine_that_echoes(visit: Visit) -> None:
    body = read_request(visit)
    visit.send(sse_head(), chunked(events(body.decode(), USAGE, "[DONE]")), b"0\r\n\r\n")


def test_usage_that_the_client_asked_for_stays() -> None:
    body = b'{"stream":true,"stream_options":{"include_usage":true}}'
    with before(engine_that_echoes, request_usage=True) as (_, running):
        assert body_of(ask(running.port, request(CHAT, body))) == events(body.decode(), USAGE, "[DONE]")


def test_it_is_off_unless_switched_on() -> None:
    with before(engine_that_echoes) as (_, running):
        got = body_of(ask(running.port, request(CHAT, b'{"stream":true}')))
    assert got == events('{"stream":true}', USAGE, "[DONE]")


@pytest.mark.parametrize("coding", ["chunked", "length"])
def test_a_held_request_keeps_its_head(coding: str) -> None:
    if coding == "chunked":
        sent = request(CHAT, headers={"Transfer-Encoding": "chunked", "X-A": "1"})
        sent += chunked(b'{"stream"') + chunked(b":true}") + b"0\r\n\r\n"
    else:
        sent = request(CHAT, b'{"stream":true}', headers={"X-A": "1"})
    with before(engine_that_echoes, request_usage=True) as (engine, running):
        got = body_of(ask(running.port, sent))
        head = engine.requests[0].partition(b"\r\n\r\n")[0]
    asked = '{"stream_options":{"include_usage":true},"stream":true}'
    assert got == events(asked, "[DONE]")
    assert b"\r\nX-A: 1\r\n" in head
    assert b"chunked" not in head
    assert head.endswith(b"\r\nContent-Length: %d" % len(asked))


def test_a_client_that_expects_to_continue_is_told_to() -> None:
    sent = request(CHAT, headers={"Expect": "100-continue", "Content-Length": "15"})
    with before(engine_that_echoes, request_usage=True) as (engine, running), connection(running.port) as sock:
        sock.sendall(sent)
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b'{"stream":true}')
        assert b"include_usage" in read_all(sock)
        assert b"Expect" not in engine.requests[0]


def test_a_request_too_large_to_hold_goes_on_as_it_is() -> None:
    body = b'{"stream":true,"x":"' + b"y" * (3 << 20) + b'"}'

    def script(visit: Visit) -> None:
        assert read_request(visit) == body
        visit.send(sse_head(), chunked(events(USAGE)), b"0\r\n\r\n")

    with before(script, request_usage=True) as (_, running):
        assert body_of(ask(running.port, request(CHAT, body))) == events(USAGE)
