"""Bodies that cannot be read, or not whole: they are named and counted, and pass all the same."""

from __future__ import annotations

import gzip

import pytest

from exporters.proxy.proxy_rig import (
    CHAT,
    ask,
    before,
    body_of,
    chunked,
    events,
    eventually,
    read_request,
    request,
    sample,
    sse_head,
    values,
)
from exporters.raw_server import Script, Visit
from specwatch_exporters.proxy.api_paths import Api
from specwatch_exporters.proxy.http_head import Headers
from specwatch_exporters.proxy.response_reading import read_response

SSE = [(b"Content-Type", b"text/event-stream; charset=utf-8")]
JSON = [(b"content-type", b"application/json")]
LIMIT = 1 << 20
TEXT = '{"choices":[{"index":0,"delta":{"content":"a"}}]}'
LAST = '{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}'


def bomb() -> bytes:
    return gzip.compress(bytes(50 << 20))


@pytest.mark.parametrize(
    ("headers", "body", "problem"),
    [
        ([*SSE, (b"content-encoding", b"br")], b"x", "encoding"),
        ([*SSE, (b"content-encoding", b"gzip")], b"not gzip", "stream"),
        ([*SSE, (b"content-encoding", b"gzip")], bomb(), "stream"),
        ([*JSON, (b"content-encoding", b"gzip")], bomb(), "damaged"),
        (JSON, b"{" + b" " * LIMIT, "too_large"),
        (JSON, b"{", "damaged"),
        (JSON, b"[" * 100_000, "damaged"),
        ([(b"content-type", b"audio/wav")], b"RIFF", "media_type"),
        (JSON, b'{"choices": []}', ""),
        (JSON, b"[]", ""),
    ],
)
def test_what_cannot_be_read_is_named(headers: list[tuple[bytes, bytes]], body: bytes, problem: str) -> None:
    reading = read_response(Api.CHAT, Headers(headers), LIMIT)
    assert reading.feed(body) == {}
    reading.close()
    assert reading.problem == problem
    assert reading.complete or reading.streamed


def whole(body: bytes, *headers: str, kind: str = "application/json") -> Script:
    lines = (f"HTTP/1.1 200 OK\r\nContent-Type: {kind}", f"Content-Length: {len(body)}", *headers, "", "")

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send("\r\n".join(lines).encode(), body)

    return script


@pytest.mark.parametrize(
    ("sent", "response", "reasons"),
    [
        (b'{"stream": false}', b'{"choices": []}', ["response_no_usage"]),
        (b"no json", b'{"choices": [], "usage": {"completion_tokens": 1}}', ["request_damaged"]),
        (b"{}", b"{", ["response_damaged"]),
        (b'{"a": "' + b"x" * (1 << 20) + b'"}', b"{}", ["request_too_large", "response_no_usage"]),
    ],
)
def test_what_was_not_read_is_counted_and_passed(sent: bytes, response: bytes, reasons: list[str]) -> None:
    with before(whole(response)) as (_, running):
        assert body_of(ask(running.port, request(CHAT, sent))) == response
        eventually(lambda: sample(running, "specwatch_request_finished_total", outcome="success") == 1)
        found = values(running, "specwatch_request_unread_total")
    assert [dict(labels)["reason"] for labels in found] == reasons


def test_a_reader_that_raises_never_touches_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a prompt")

    monkeypatch.setattr("specwatch_exporters.proxy.request_watch.RequestWatch._chunk", broken)
    data = events(TEXT, LAST, "[DONE]")

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(sse_head(), chunked(data), chunked(data), b"0\r\n\r\n")

    with before(script) as (_, running):
        assert body_of(ask(running.port, request(CHAT, b'{"stream": true}'))) == data + data
        eventually(lambda: sample(running, "specwatch_request_unread_total", reason="internal") == 1)
        assert sample(running, "specwatch_request_in_flight") == 0
