"""Read an OpenAI completion or chat request as vLLM 0.32 does, as far as the replay engine needs it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.replay.api_error import ApiError, unparsable
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.traffic_classes import CLASS_HEADER, TrafficClass

COMPLETION_MAX_TOKENS = 16
"""vLLM's default for completions; chat defaults to whatever the context leaves."""
CHAT_TEMPLATE_TOKENS = 4
"""Tokens that the pretended chat template adds to each message."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A checked request.

    Attributes:
        chat: chat completion, else completion.
        prompt_tokens: words of the prompt, or length of a token list; chat messages add template tokens.
        continuous_usage: usage on every chunk (`stream_options.continuous_usage_stats`).
    """

    chat: bool
    traffic_class: TrafficClass
    prompt_tokens: int
    max_tokens: int
    ignore_eos: bool
    stream: bool
    include_usage: bool
    continuous_usage: bool


def read_json(raw: bytes, content_type: str) -> dict[str, Any]:
    """Parse a request body.

    Raises:
        ApiError: 400, when the media type is not JSON or the body is not a JSON object.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise unparsable("1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed")
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        at = getattr(error, "pos", 0)
        raise unparsable(f"1 validation error:\n  JSON decode error at {at}: {error}", f"body.{at}") from None
    if not isinstance(body, dict):
        raise unparsable("1 validation error:\n  the body must be a JSON object", "body")
    return body


def parse_request(
    body: Mapping[str, Any], headers: Mapping[str, str], settings: ReplaySettings, *, chat: bool
) -> ApiRequest:
    """Check a request against the engine's limits.

    Raises:
        ApiError: 404 for an unknown model, 400 for everything else that vLLM or the replay engine refuses.
    """
    _check_model(body, settings)
    prompt_tokens = _chat_tokens(body) if chat else _prompt_tokens(body)
    options = _stream_options(body)
    stream = _flag(body, "stream")
    if options is not None and not stream:
        raise ApiError(
            "Stream options can only be defined when `stream=True`. (parameter=stream_options)",
            param="stream_options",
        )
    if body.get("n", 1) not in (None, 1):
        raise ApiError("The replay engine serves n=1 only.", param="n")
    options = options or {}
    return ApiRequest(
        chat=chat,
        traffic_class=settings.class_named(_class_name(body, headers, settings.class_names)),
        prompt_tokens=prompt_tokens,
        max_tokens=_max_tokens(body, prompt_tokens, settings.max_model_len, chat=chat),
        ignore_eos=_flag(body, "ignore_eos"),
        stream=stream,
        include_usage=_flag(options, "include_usage"),
        continuous_usage=_flag(options, "include_usage") and _flag(options, "continuous_usage_stats"),
    )


def _check_model(body: Mapping[str, Any], settings: ReplaySettings) -> None:
    model = body.get("model")
    if model is not None and model != settings.model_name:
        raise ApiError(
            f"The model `{model}` does not exist. Valid aliases: {settings.model_name}.",
            status=404,
            kind="NotFoundError",
            param="model",
        )


def _prompt_tokens(body: Mapping[str, Any]) -> int:
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], (str, list)):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        return max(len(prompt.split()), 1)
    if isinstance(prompt, list) and prompt and all(type(token) is int for token in prompt):
        return len(prompt)
    if isinstance(prompt, list) and len(prompt) > 1:
        raise ApiError("The replay engine takes one prompt per request.", param="prompt")
    raise ApiError("prompt must be provided and non-empty. (parameter=prompt)", param="prompt")


def _chat_tokens(body: Mapping[str, Any]) -> int:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise unparsable("1 validation error:\n  messages must be a non-empty list", "body.messages")
    total = 0
    for message in messages:
        if not isinstance(message, dict) or "role" not in message:
            raise unparsable("1 validation error:\n  every message needs a role", "body.messages")
        total += CHAT_TEMPLATE_TOKENS + _content_words(message.get("content"))
    return total


def _content_words(content: object) -> int:
    if isinstance(content, str):
        return len(content.split())
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return sum(len(text.split()) for text in texts if isinstance(text, str))
    return 0


def _max_tokens(body: Mapping[str, Any], prompt_tokens: int, limit: int, *, chat: bool) -> int:
    left = limit - prompt_tokens
    if left < 1:
        raise ApiError(
            f"The prompt has {prompt_tokens} tokens; prompt and output together may have {limit}.",
            param="messages" if chat else "prompt",
        )
    name = "max_completion_tokens" if chat and body.get("max_completion_tokens") is not None else "max_tokens"
    value = body.get(name)
    if value is None:
        return left if chat else min(COMPLETION_MAX_TOKENS, left)
    if type(value) is not int:
        raise unparsable(f"1 validation error:\n  {name} must be an integer", f"body.{name}")
    if value < 1:
        raise ApiError(f"{name} must be at least 1, got {value}. (parameter={name}, value={value})", param=name)
    if value > left:
        raise ApiError(
            f"{name}={value} does not fit: the prompt has {prompt_tokens} tokens, prompt and output together "
            f"may have {limit}. (parameter={name}, value={value})",
            param=name,
        )
    return value


def _stream_options(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    options = body.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise unparsable("1 validation error:\n  stream_options must be an object", "body.stream_options")
    return options


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise unparsable(f"1 validation error:\n  {name} must be true or false", f"body.{name}")


def _class_name(body: Mapping[str, Any], headers: Mapping[str, str], known: tuple[str, ...]) -> str | None:
    """First of header, `metadata.class` and `user` that names a class."""
    metadata = body.get("metadata")
    labelled = metadata.get("class") if isinstance(metadata, dict) else None
    for name in (headers.get(CLASS_HEADER), labelled, body.get("user")):
        if isinstance(name, str) and name in known:
            return name
    return None
