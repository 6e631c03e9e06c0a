from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
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
from specwatch_exporters.proxy.api_paths import Api, find_api
from specwatch_exporters.proxy.http_head import Headers
from specwatch_exporters.proxy.response_reading import Reading, read_response

CASES = Path(__file__).resolve().parents[2] / "cases"
SSE = [(b"Content-Type", b"text/event-stream; charset=utf-8")]
JSON = [(b"content-type", b"application/json")]
LIMIT = 1 << 20


def delta(text: str, index: int = 0, finish: str | None = None, **more: Any) -> str:
    choice = {"index": index, "delta": {"content": text}, "finish_reason": finish}
    return json.dumps({"model": "m", "choices": [choice], **more})


def usage(prompt: int, completion: int, **more: Any) -> str:
    return json.dumps(
        {
            "model": "m",
            "choices": [],
            "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
            **more,
        }
    )


def read(api: Api, data: bytes, step: int = 0) -> tuple[Reading, list[dict[int, tuple[int, int | None]]]]:
    """Feed a stream, in pieces of so many bytes; returns the chunks of text."""
    reading = read_response(api, Headers(SSE), LIMIT)
    found = []
    for start in range(0, len(data), step or max(1, len(data))):
        chunks = reading.feed(data[start : start + (step or len(data))])
        if chunks:
            found.append({choice: (chunk.events, chunk.tokens) for choice, chunk in chunks.items()})
    reading.close()
    return reading, found


@pytest.mark.parametrize(
    ("method", "path", "api"),
    [
        (b"POST", "/v1/chat/completions", Api.CHAT),
        (b"POST", "/v1/completions", Api.COMPLETIONS),
        (b"POST", "/llm/v1/completions/", Api.COMPLETIONS),
        (b"POST", "/v1/responses", Api.RESPONSES),
        (b"POST", "/v1/messages", Api.MESSAGES),
        (b"POST", "/generate", Api.GENERATE),
        (b"GET", "/v1/responses", None),
        (b"POST", "/v1/embeddings", None),
        (b"POST", "/v1/messages/count_tokens", None),
    ],
)
def test_only_requests_that_generate_are_read(method: bytes, path: str, api: Api | None) -> None:
    assert find_api(method, path) is api


def test_a_record_in_the_last_event_is_read() -> None:
    data = (CASES / "50-vllm-per-request-metrics-in-stream" / "stream.sse").read_bytes()
    reading, chunks = read(Api.CHAT, data)
    record = reading.record()
    assert record is not None
    assert (record.tally.drafts, record.tally.draft_tokens, record.tally.accepted_tokens) == (43, 129, 10)
    assert record.tally.acceptance_rate == pytest.approx(0.077519, abs=1e-6)
    assert record.tally.mean_acceptance_length == pytest.approx(1.232558, abs=1e-6)
    assert record.histogram == (39, 1, 0, 3)
    assert record.speculative_tokens == 3
    assert reading.complete
    assert chunks == [{0: (2, None)}]


def test_empty_first_chunks_are_no_text_and_a_merged_finish_is_seen() -> None:
    data = (CASES / "52-sse-empty-first-chunks-and-merged-finish" / "stream.sse").read_bytes()
    parts = data.split(b"\n\n")
    reading = read_response(Api.CHAT, Headers(SSE), LIMIT)
    with_text = [number for number, part in enumerate(parts, start=1) if reading.feed(part + b"\n\n")]
    assert with_text == [4, 5, 6]
    assert reading.complete
    record = reading.record()
    assert record is not None
    assert (record.prompt_tokens, record.completion_tokens) == (26, 3)


@pytest.mark.parametrize(
    "case", ["50-vllm-per-request-metrics-in-stream", "52-sse-empty-first-chunks-and-merged-finish"]
)
def test_the_bytes_of_a_recorded_stream_pass_unchanged(case: str) -> None:
    data = (CASES / case / "stream.sse").read_bytes()

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(sse_head())
        for start in range(0, len(data), 97):
            visit.send(chunked(data[start : start + 97]))
        visit.send(b"0\r\n\r\n")

    with before(script) as (_, running):
        assert body_of(ask(running.port, request(CHAT, b'{"stream": true}'))) == data
        eventually(lambda: sample(running, "specwatch_request_finished_total", outcome="success") == 1)
        assert sample(running, "specwatch_request_unread_total") == 0


CHAT_STREAM = (
    ": a comment\n\n"
    + "".join(
        f"data: {one}\n\n"
        for one in (
            json.dumps({"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
            json.dumps({"choices": [{"index": 0, "delta": {"reasoning_content": "é日本😀"}}]}, ensure_ascii=False),
            json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"arguments": "{"}}]}}]}),
            delta("text"),
            delta("", finish="stop"),
            usage(7, 9),
        )
    )
    + "data: [DONE]\n\n"
)


@given(st.integers(1, 80), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=60)
def test_however_a_stream_is_cut_into_packets_it_reads_the_same(step: int, end: str) -> None:
    reading, chunks = read(Api.CHAT, CHAT_STREAM.replace("\n", end).encode(), step)
    assert sum(events for chunk in chunks for events, _ in chunk.values()) == 3
    assert (reading.complete, reading.failed, reading.problem, reading.model) == (True, False, "", "m")
    record = reading.record()
    assert record is not None
    assert (record.prompt_tokens, record.completion_tokens) == (7, 9)


@pytest.mark.parametrize(
    ("data", "complete", "failed", "problem"),
    [
        (events(delta("a"), delta("b", finish="stop")), True, False, ""),  # no [DONE]
        (events(delta("a"), delta("b", finish="stop"))[:-1], True, False, ""),  # and no blank line behind
        (events(delta("a")), False, False, ""),
        (events(delta("a"), "[DONE]"), False, False, ""),  # the end of the stream, not of the answer
        (events(delta("a"), '{"error": {"message": "boom", "code": 500}}'), False, True, ""),
        (events(delta("a", index=0), delta("b", index=1, finish="stop")), False, False, ""),
        (events(delta("a", 0, "stop"), delta("b", 1, "length")), True, False, ""),
        (events(delta("a"), "{broken", delta("", finish="stop")), True, False, "event"),
        (events("[1, 2]", delta("", finish="stop")), True, False, "event"),
        (b"data: " + b"x" * (LIMIT + 10), True, False, "stream"),
        (b"", False, False, ""),
    ],
)
def test_whether_an_answer_is_whole(data: bytes, complete: bool, failed: bool, problem: str) -> None:
    reading, _ = read(Api.CHAT, data)
    assert (reading.complete, reading.failed, reading.problem) == (complete, failed, problem)


def test_choices_are_told_apart() -> None:
    _, chunks = read(Api.CHAT, events(delta("a", 0), delta("b", 1), delta("c", 1), delta("", 0, "stop")))
    assert chunks == [{0: (1, None), 1: (2, None)}]


@pytest.mark.parametrize(
    ("more", "tokens"),
    [
        ({"usage": {"completion_tokens": 3}}, [3, 3]),
        ({}, [None, None]),
        ({"usage": {"completion_tokens": "3"}}, [None, None]),
    ],
)
def test_a_running_count_tells_the_tokens_of_each_event(more: dict[str, Any], tokens: list[int | None]) -> None:
    later = {"usage": {"completion_tokens": 6}} if tokens[0] else more
    first, second = events(delta("a", **more)), events(delta("b", **later))
    reading = read_response(Api.CHAT, Headers(SSE), LIMIT)
    assert [reading.feed(part)[0].tokens for part in (first, second)] == tokens


@pytest.mark.parametrize(
    "more",
    [{"token_ids": [1, 2]}, {"logprobs": {"content": [{}, {}]}}, {"logprobs": {"tokens": ["a", "b"]}}],
)
def test_lists_of_tokens_tell_their_number(more: dict[str, Any]) -> None:
    event = json.dumps({"choices": [{"index": 0, "text": "ab", **more}]})
    _, chunks = read(Api.COMPLETIONS, events(event))
    assert chunks == [{0: (1, 2)}]


def test_sglangs_own_form_tells_all() -> None:
    meta = {"completion_tokens": 5, "prompt_tokens": 2, "finish_reason": None}
    last = {
        **meta,
        "completion_tokens": 9,
        "finish_reason": {"type": "stop"},
        "queue_time": 0.25,
        "spec_verify_ct": 4,
        "spec_num_correct_drafts": 5,
        "spec_num_proposed_drafts": 12,
        "spec_accept_length": 2.25,
        "spec_accept_rate": 5 / 12,
        "spec_correct_drafts_histogram": [1, 1, 2, 0],
    }
    data = [json.dumps({"text": "abc", "meta_info": meta}), json.dumps({"text": "abcdef", "meta_info": last})]
    reading = read_response(Api.GENERATE, Headers(SSE), LIMIT)
    assert [reading.feed(events(one))[0].tokens for one in data] == [5, 4]
    record = reading.record()
    assert record is not None
    assert (record.queue_wait_s, record.completion_tokens) == (0.25, 9)
    assert (record.tally.drafts, record.tally.accepted_tokens) == (4, 5)
    assert reading.complete


def test_anthropic_messages() -> None:
    start: dict[str, Any] = {
        "type": "message_start",
        "message": {"model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}},
    }
    data: list[dict[str, Any]] = [
        start,
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    ]
    text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in data)
    reading, chunks = read(Api.MESSAGES, text.encode())
    assert chunks == [{0: (3, None)}]
    assert (reading.complete, reading.model) == (True, "m")
    record = reading.record()
    assert record is not None
    assert (record.prompt_tokens, record.completion_tokens) == (5, 12)
    failing, _ = read(Api.MESSAGES, events(json.dumps(start), '{"type": "error", "error": {}}'))
    assert failing.failed


@pytest.mark.parametrize(
    ("last", "complete", "failed"),
    [
        ("response.completed", True, False),
        ("response.incomplete", True, False),
        ("response.failed", False, True),
        ("error", False, True),
        ("response.in_progress", False, False),
    ],
)
def test_openai_responses(last: str, complete: bool, failed: bool) -> None:
    data = [
        {"type": "response.created", "response": {"model": "m"}},
        {"type": "response.reasoning_text.delta", "delta": "hm"},
        {"type": "response.output_text.delta", "delta": "a"},
        {"type": "response.function_call_arguments.delta", "delta": ""},
        {"type": "response.output_text.done", "text": "a"},
        {"type": last, "response": {"model": "m", "usage": {"input_tokens": 4, "output_tokens": 6}}},
    ]
    reading, chunks = read(Api.RESPONSES, events(*map(json.dumps, data)))
    assert chunks == [{0: (2, None)}]
    assert (reading.complete, reading.failed, reading.model) == (complete, failed, "m")
    record = reading.record()
    if complete:
        assert record is not None
        assert (record.prompt_tokens, record.completion_tokens) == (4, 6)


@pytest.mark.parametrize("coding", [b"gzip", b"deflate", b"identity"])
def test_a_compressed_copy_is_read(coding: bytes) -> None:
    plain = CHAT_STREAM.encode()
    packed = {b"gzip": gzip.compress(plain), b"deflate": zlib.compress(plain), b"identity": plain}[coding]
    reading = read_response(Api.CHAT, Headers([*SSE, (b"Content-Encoding", coding)]), LIMIT)
    for start in range(0, len(packed), 50):
        reading.feed(packed[start : start + 50])
    reading.close()
    assert (reading.complete, reading.problem) == (True, "")
