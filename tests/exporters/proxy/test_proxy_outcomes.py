"""How a request ended, for every way in which an engine can fail to answer it."""

from __future__ import annotations

import gzip
import json
from http import HTTPStatus

import pytest

from exporters.proxy.proxy_rig import (
    CHAT,
    ask,
    before,
    body_of,
    events,
    eventually,
    read_request,
    request,
    sample,
    values,
)
from exporters.raw_server import Script, Visit
from specwatch_exporters.proxy.own_answers import Refusal
from specwatch_exporters.proxy.run import RequestSidecar


def outcomes(running: RequestSidecar) -> list[str]:
    counted = values(running, "specwatch_request_finished_total")
    return [dict(labels)["outcome"] for labels, count in counted.items() if count]


def answers(status: int, body: bytes, *headers: str) -> Script:
    kind = () if any(line.startswith("Content-Type") for line in headers) else ("Content-Type: application/json",)
    lines = (f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Length: {len(body)}", *kind, *headers)

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send("\r\n".join((*lines, "", "")).encode(), body)

    return script


ERROR = {"message": "no", "type": "x", "code": 500}
SUCCESSES: dict[str, object] = {
    "chat": {"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}], "error": None},
    "responses": {"object": "response", "status": "completed", "error": None, "output": []},
    "responses, cut by length": {"object": "response", "status": "incomplete", "error": None, "output": []},
    "messages": {"type": "message", "content": [], "stop_reason": "end_turn"},
    "generate": {"text": "error", "meta_info": {"finish_reason": {"type": "length"}}},
    "generate, several": [{"text": "a", "meta_info": {"finish_reason": {"type": "stop"}}}],
}
FAILURES: dict[str, object] = {
    "openai": {"error": ERROR},
    "openai, text": {"error": "no"},
    "vllm before 0.10": {"object": "error", **ERROR},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
    "responses": {"object": "response", "status": "failed", "output": [], "error": None},
    "chat, aborted": {"choices": [{"index": 0, "finish_reason": "stop"}, {"index": 1, "finish_reason": "abort"}]},
    "generate": {"text": "", "meta_info": {"finish_reason": {"type": "abort", "message": "no"}}},
    "generate, several": [{"text": "a", "meta_info": {}}, {"meta_info": {"finish_reason": {"type": "abort"}}}],
}


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize(
    ("body", "outcome"),
    [*((body, "success") for body in SUCCESSES.values()), *((body, "error") for body in FAILURES.values())],
    ids=[*(f"success: {name}" for name in SUCCESSES), *(f"error: {name}" for name in FAILURES)],
)
def test_a_whole_answer_may_say_that_it_failed(body: object, outcome: str, coded: bool) -> None:
    data = json.dumps(body).encode()
    data, headers = (gzip.compress(data), ("Content-Encoding: gzip",)) if coded else (data, ())
    with before(answers(200, data, *headers)) as (_, running):
        assert body_of(ask(running.port, request(CHAT, b"{}"))) == data
        eventually(lambda: outcomes(running) == [outcome])
        assert (sample(running, "specwatch_request_e2e_latency_seconds_count") == 1) is (outcome == "success")


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        ({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "success"),
        ({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}, "success"),
        ({"choices": [{"index": 0, "delta": {}, "finish_reason": "abort"}]}, "error"),
        ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}, "error"),
        ({"text": "ab", "meta_info": {"finish_reason": {"type": "abort"}}}, "error"),
        ({"text": "ab", "meta_info": {"finish_reason": {"type": "stop"}}}, "success"),
        ({"error": ERROR}, "error"),
        ({"object": "error", **ERROR}, "error"),
    ],
)
def test_a_stream_may_end_with_a_failure(last: dict[str, object], outcome: str) -> None:
    first = {"text": "a", "meta_info": {"id": "x"}} if "text" in last else {"choices": [{"index": 0, "text": "a"}]}
    data = events(json.dumps(first), json.dumps(last), "[DONE]")
    with before(answers(200, data, "Content-Type: text/event-stream")) as (_, running):
        ask(running.port, request(CHAT, b'{"stream": true}'))
        eventually(lambda: outcomes(running) == [outcome])


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, "success"),
        (201, "success"),
        (204, "success"),
        (301, "rejected"),
        (304, "rejected"),
        (307, "rejected"),
        (308, "rejected"),
        (400, "rejected"),
        (429, "rejected"),
        (500, "error"),
        (503, "error"),
    ],
)
def test_only_an_answer_is_a_success(status: int, outcome: str) -> None:
    location = ("Location: /elsewhere",) if 300 <= status < 400 else ()
    with before(answers(status, b"{}" if status not in (204, 304) else b"", *location)) as (_, running):
        ask(running.port, request(CHAT, b"{}"))
        eventually(lambda: outcomes(running) == [outcome])


def closes(visit: Visit) -> None:
    read_request(visit)


def resets(visit: Visit) -> None:
    read_request(visit)
    visit.reset()


def sends(data: bytes) -> Script:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(data)

    return script


HALF = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"


@pytest.mark.parametrize(
    ("script", "refusal"),
    [
        (closes, Refusal.NO_ANSWER),
        (resets, Refusal.NO_ANSWER),
        (sends(b"\x15\x03\x03\x00\x02\x02\x46"), Refusal.BAD_ANSWER),
        (sends(b"SSH-2.0-x\r\n"), Refusal.BAD_ANSWER),
        (sends(HALF), Refusal.NO_ANSWER),
        (sends(b"HTTP/1.1 103 Early Hints\r\n\r\n"), Refusal.NO_ANSWER),
    ],
    ids=["closes", "resets", "TLS", "SSH", "half a head", "an interim answer only"],
)
def test_an_engine_that_dies_before_its_answer_is_an_error(script: Script, refusal: Refusal) -> None:
    with before(script) as (_, running):
        got = ask(running.port, request(CHAT, b"{}"))
        assert refusal.message.encode() in got
        eventually(lambda: outcomes(running) == ["error"])


@pytest.mark.parametrize("script", [sends(HALF + b"\r\n"), sends(HALF + b"\r\n{")], ids=["head", "body"])
def test_an_engine_that_dies_behind_its_head_has_cut_its_answer(script: Script) -> None:
    with before(script) as (_, running):
        ask(running.port, request(CHAT, b"{}"))
        eventually(lambda: outcomes(running) == ["cut"])
