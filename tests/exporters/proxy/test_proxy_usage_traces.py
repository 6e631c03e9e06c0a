"""Usage asked for on a client's behalf leaves no trace: coded answers, answers with a length, odd requests."""

from __future__ import annotations

import gzip
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
    events,
    eventually,
    read_request,
    request,
    sample,
    sse_head,
)
from exporters.raw_server import Visit
from specwatch_exporters.proxy.usage_request import UsageFilter, UsageRequest

LIMIT = 1 << 20
TEXT = '{"choices":[{"index":0,"delta":{"content":"a"}}]}'
LAST = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
USAGE = '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2},"system_fingerprint":"v"}'
STAMPED = LAST[:-1] + ',"system_fingerprint":"v"}'
ANSWER = events(TEXT, LAST, USAGE, "[DONE]")
SHOWN = events(TEXT, STAMPED, "[DONE]")
STREAM = b'{"stream":true}'


def sends_length(visit: Visit) -> None:
    read_request(visit)
    lines = ("HTTP/1.1 200 OK", "Content-Type: text/event-stream", f"Content-Length: {len(ANSWER)}", "", "")
    visit.send("\r\n".join(lines).encode(), ANSWER)
    visit.hang()


def codes_if_asked(visit: Visit) -> None:
    """As an engine behind a compressing middleware does."""
    read_request(visit)
    coded = re.search(rb"(?i)\r\naccept-encoding:[^\r]*gzip", visit.request) is not None
    head = sse_head("Content-Encoding: gzip") if coded else sse_head()
    visit.send(head, chunked(gzip.compress(ANSWER) if coded else ANSWER), b"0\r\n\r\n")


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_an_answer_with_a_length_shows_no_usage(version: str) -> None:
    sent = request(CHAT, STREAM).replace(b"HTTP/1.1", b"HTTP/" + version.encode())
    with before(sends_length, request_usage=True) as (_, running):
        got = ask(running.port, sent)
        assert body_of(got) == SHOWN
        assert b"content-length" not in got.lower()
        eventually(lambda: sample(running, "specwatch_request_output_tokens_total") == 2)


def test_an_answer_with_a_length_keeps_it_if_nothing_was_asked() -> None:
    sent = request(CHAT, b'{"stream":true,"stream_options":{"include_usage":true}}')
    with before(sends_length, request_usage=True) as (_, running):
        got = ask(running.port, sent)
        assert body_of(got) == ANSWER
        assert b"\r\nContent-Length: %d\r\n" % len(ANSWER) in got


@pytest.mark.parametrize("accepted", ["gzip", "gzip, deflate, br", "identity;q=0.1, GZIP;q=1"])
def test_an_engine_that_codes_on_demand_is_not_asked_to(accepted: str) -> None:
    sent = request(CHAT, STREAM, headers={"accept-encoding": accepted, "X-A": "1"})
    with before(codes_if_asked, request_usage=True) as (engine, running):
        assert body_of(ask(running.port, sent)) == SHOWN
        assert b"\r\naccept-encoding: identity\r\nX-A: 1\r\n" in engine.requests[0]


@pytest.mark.parametrize("body", [b'{"stream":false}', b'{"stream":true,"stream_options":{"include_usage":true}}'])
def test_codings_stay_accepted_where_nothing_is_asked(body: bytes) -> None:
    sent = request(CHAT, body, headers={"Accept-Encoding": "gzip"})
    with before(codes_if_asked, request_usage=True) as (engine, running):
        assert gzip.decompress(body_of(ask(running.port, sent))) == ANSWER
        assert b"\r\nAccept-Encoding: gzip\r\n" in engine.requests[0]


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ("null", '{"include_usage":true}'),
        ("{}", '{"include_usage":true}'),
        ("{ }", '{"include_usage":true }'),
        ('{"include_usage": false}', '{"include_usage": true}'),
        ('{"include_usage":null , "x":1e400}', '{"include_usage":true , "x":1e400}'),
        ('{"x": 1, "x": 2}', '{"include_usage":true,"x": 1, "x": 2}'),
        ('{"include_usage":1,"include_usage":0}', '{"include_usage":1,"include_usage":true}'),
        ('{"continuous_usage_stats": true}', '{"include_usage":true,"continuous_usage_stats": false}'),
        (
            '{"include_usage":false,"continuous_usage_stats":true}',
            '{"include_usage":true,"continuous_usage_stats":false}',
        ),
        ('{"continuous_usage_stats": false}', '{"include_usage":true,"continuous_usage_stats": false}'),
        ('{"include\\u005fusage":false}', '{"include\\u005fusage":true}'),
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        '{"stream":true,"stream_options":%s}',
        ' {"a":1e400 , "a":-0.0,"stream" :true,"stream_options" : %s ,"b":"\\ud800 é \\"stream_options\\":{}"}\r\n',
        '{"stream_options":{"include_usage":true},"stream":true,"x":{"stream_options":1},"stream_options":%s,"n":1}',
        '{"stream":true,"stream_options":%s,"seed":12345678901234567890123,"x":[{"stream_options":null}]}',
    ],
)
def test_only_the_options_are_written_anew(around: str, options: str, asked: str) -> None:
    body, wanted = (around.replace("%s", one).encode() for one in (options, asked))
    assert UsageRequest(LIMIT).rewrite(body) == wanted


@pytest.mark.parametrize("text", ['{"stream":true,"stream_options":null}', '{"stream":true}'])
@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-32-le"])
def test_a_body_in_another_coding_is_left_alone(text: str, coding: str) -> None:
    body = text.encode(coding)
    asked = UsageRequest(LIMIT)
    assert asked.rewrite(body) == body
    assert not asked.asked


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=5), JSON, max_size=4),
    st.none() | st.dictionaries(st.sampled_from(["include_usage", "continuous_usage_stats", "x", "é"]), JSON),
    st.booleans(),
    st.sampled_from([None, 0, 3]),
)
def test_any_other_field_means_the_same(
    fields: dict[str, Any], options: dict[str, Any] | None, plain: bool, indent: int | None
) -> None:
    fields = {**fields, "n": None, "best_of": None, "prompt": "x", "stream": True, "stream_options": options}
    body = json.dumps(fields, ensure_ascii=plain, indent=indent).encode("utf-8", "surrogatepass")
    asked = UsageRequest(LIMIT)
    found = json.loads(asked.rewrite(body))
    if options and options.get("include_usage"):
        assert found == fields
        return
    assert asked.asked
    told = found.pop("stream_options")
    fields.pop("stream_options")
    assert found == fields
    assert told.pop("include_usage") is True
    assert not told.pop("continuous_usage_stats", False)
    ours = ("include_usage", "continuous_usage_stats")
    assert told == {key: one for key, one in (options or {}).items() if key not in ours}


COMMENTS = (": ping", ": data: {}", "event: ping", "id: 1", ": " + USAGE)


@given(
    st.lists(st.sampled_from([TEXT, *COMMENTS]), max_size=4),
    st.lists(st.sampled_from(COMMENTS), max_size=3),
    st.lists(st.sampled_from(COMMENTS), max_size=2),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 60),
    st.booleans(),
)
def test_the_stamp_finds_its_event_past_comments(
    first: list[str],
    between: list[str],
    behind: list[str],
    end: str,
    step: int,
    done: bool,
) -> None:
    def stream(*lines: str) -> bytes:
        return "".join(f"{line if line in COMMENTS else 'data: ' + line}{end}{end}" for line in lines).encode()

    tail = (*behind, "[DONE]") if done else tuple(behind)
    sent = stream(*first, LAST, *between, USAGE, *tail)
    found = UsageFilter()
    got = b"".join(found.feed(sent[start : start + step]) for start in range(0, len(sent), step)) + found.close()
    assert got == stream(*first, STAMPED, *between, *tail)


def test_endless_comments_behind_the_last_text_are_not_held_for_ever() -> None:
    found = UsageFilter()
    ping = b": " + b"x" * 1000 + b"\n\n"
    sent = events(LAST) + ping * 2000
    assert b"".join(found.feed(sent[start : start + 5000]) for start in range(0, len(sent), 5000)) == sent


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (events(TEXT, LAST), events(TEXT, LAST)),
        (events(TEXT) + b'data: {"choices":[{"in', events(TEXT) + b'data: {"choices":[{"in'),
        (events(TEXT, LAST) + b": still\n\n", events(TEXT, LAST) + b": still\n\n"),
        (events(TEXT, LAST) + b'data: {"choices":[],"usa', events(TEXT, LAST)),
        (events(TEXT, LAST, USAGE), events(TEXT, STAMPED)),
    ],
    ids=["finish", "half an event", "comment", "half the usage", "usage"],
)
@pytest.mark.parametrize("step", [7, 10_000])
def test_a_stream_that_breaks_off_is_shown_as_far_as_it_came(sent: bytes, shown: bytes, step: int) -> None:
    def script(visit: Visit) -> None:
        read_request(visit)
        parts = [chunked(sent[start : start + step]) for start in range(0, len(sent), step)]
        visit.send(sse_head(), *parts)

    with before(script, request_usage=True) as (_, running):
        got = ask(running.port, request(CHAT, STREAM))
    assert not got.endswith(b"0\r\n\r\n")
    assert body_of(got + b"0\r\n\r\n") == shown
