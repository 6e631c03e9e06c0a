from __future__ import annotations

import json
from typing import Any

import pytest

from specwatch_exporters.replay.api_error import ApiError
from specwatch_exporters.replay.api_request import ApiRequest, parse_request, read_json
from specwatch_exporters.replay.settings import ReplaySettings

SETTINGS = ReplaySettings(model="tiny", max_model_len=1024)
JSON = "application/json"
USER = {"role": "user", "content": "write two lines"}


def parsed(body: dict[str, Any], headers: dict[str, str] | None = None) -> ApiRequest:
    return parse_request(body, headers or {}, SETTINGS, chat="messages" in body)


@pytest.mark.parametrize(
    ("raw", "media", "param"),
    [
        (b'{"model":', JSON, "body.9"),
        (b"[" * 100_000, JSON, "body.0"),
        (b"\xff\xfe", JSON, "body.0"),
        (b"[1]", JSON, "body"),
        (b"", JSON, "body.0"),
        (b"{}", "text/plain", None),
        (b"{}", "", None),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(raw: bytes, media: str, param: str | None) -> None:
    with pytest.raises(ApiError) as caught:
        read_json(raw, media)
    error = caught.value.body()["error"]
    assert (error["code"], error["type"], error["param"]) == (400, "Bad Request", param)


def test_a_charset_is_no_reason_to_refuse() -> None:
    assert read_json(b'{"a": 1}', "Application/JSON; charset=utf-8") == {"a": 1}


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"model": "x", "prompt": "a"}, 404, "model"),
        ({}, 400, "prompt"),
        ({"prompt": ""}, 400, "prompt"),
        ({"prompt": []}, 400, "prompt"),
        ({"prompt": ["a", "b"]}, 400, "prompt"),
        ({"prompt": {"a": 1}}, 400, "prompt"),
        ({"prompt": "a", "max_tokens": 0}, 400, "max_tokens"),
        ({"prompt": "a", "max_tokens": -1}, 400, "max_tokens"),
        ({"prompt": "a", "max_tokens": 1024}, 400, "max_tokens"),
        ({"prompt": "a", "max_tokens": "5"}, 400, "body.max_tokens"),
        ({"prompt": "a", "max_tokens": True}, 400, "body.max_tokens"),
        ({"prompt": list(range(1024))}, 400, "prompt"),
        ({"prompt": "a", "n": 2}, 400, "n"),
        ({"prompt": "a", "stream": "yes"}, 400, "body.stream"),
        ({"prompt": "a", "ignore_eos": 1}, 400, "body.ignore_eos"),
        ({"prompt": "a", "stream_options": {"include_usage": True}}, 400, "stream_options"),
        ({"prompt": "a", "stream": True, "stream_options": 5}, 400, "body.stream_options"),
        ({"messages": []}, 400, "body.messages"),
        ({"messages": ["hi"]}, 400, "body.messages"),
        ({"messages": [{"content": "hi"}]}, 400, "body.messages"),
        ({"messages": [USER], "max_completion_tokens": 0}, 400, "max_completion_tokens"),
    ],
)
def test_wrong_requests_are_refused_in_the_openai_shape(body: dict[str, Any], status: int, param: str) -> None:
    with pytest.raises(ApiError) as caught:
        parsed(body)
    error = caught.value.body()["error"]
    assert (caught.value.status, error["code"], error["param"]) == (status, status, param)
    assert set(error) == {"message", "type", "param", "code"}
    json.dumps(error)


@pytest.mark.parametrize(
    ("body", "prompt_tokens", "max_tokens"),
    [
        ({"prompt": "import os"}, 2, 16),
        ({"prompt": "   "}, 1, 16),
        ({"prompt": ["import os"], "max_tokens": 5}, 2, 5),
        ({"prompt": [5, 6, 7], "max_tokens": None}, 3, 16),
        ({"prompt": [[5, 6, 7]]}, 3, 16),
        ({"prompt": list(range(1020))}, 1020, 4),
        ({"model": "tiny", "prompt": "a", "max_tokens": 1023}, 1, 1023),
        ({"messages": [USER]}, 7, 1017),
        ({"messages": [USER, USER], "max_tokens": 9}, 14, 9),
        ({"messages": [USER], "max_completion_tokens": 8, "max_tokens": 9}, 7, 8),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a b"}, {"type": "x"}]}]}, 6, 1018),
        ({"messages": [{"role": "assistant", "content": None}]}, 4, 1020),
    ],
)
def test_tokens_are_words_and_limits_have_the_engine_defaults(
    body: dict[str, Any], prompt_tokens: int, max_tokens: int
) -> None:
    request = parsed(body)
    assert (request.prompt_tokens, request.max_tokens) == (prompt_tokens, max_tokens)


@pytest.mark.parametrize(
    ("extra", "headers", "expected"),
    [
        ({}, {}, "chat"),
        ({}, {"x-specwatch-class": "code"}, "code"),
        ({}, {"x-specwatch-class": "poetry"}, "chat"),
        ({"user": "math"}, {}, "math"),
        ({"user": "somebody"}, {}, "chat"),
        ({"metadata": {"class": "code"}}, {}, "code"),
        ({"metadata": "code"}, {}, "chat"),
        ({"user": "math", "metadata": {"class": "code"}}, {}, "code"),
        ({"user": "math"}, {"x-specwatch-class": "code"}, "code"),
        ({"user": 5}, {}, "chat"),
    ],
)
def test_the_traffic_class_comes_from_header_metadata_or_user(
    extra: dict[str, Any], headers: dict[str, str], expected: str
) -> None:
    assert parsed({"prompt": "a", **extra}, headers).traffic_class.name == expected


@pytest.mark.parametrize(
    ("options", "usage", "continuous"),
    [
        (None, False, False),
        ({}, False, False),
        ({"include_usage": True}, True, False),
        ({"include_usage": True, "continuous_usage_stats": True}, True, True),
        ({"continuous_usage_stats": True}, False, False),
    ],
)
def test_stream_options(options: dict[str, bool] | None, usage: bool, continuous: bool) -> None:
    request = parsed({"prompt": "a", "stream": True, "stream_options": options})
    assert (request.include_usage, request.continuous_usage) == (usage, continuous)
