"""Paths whose requests are read, and the form that each speaks."""

from __future__ import annotations

from enum import Enum


class Api(Enum):
    """Form of requests and answers."""

    COMPLETIONS = "/v1/completions"
    CHAT = "/v1/chat/completions"
    RESPONSES = "/v1/responses"
    MESSAGES = "/v1/messages"
    GENERATE = "/generate"


_OPENAI = frozenset({Api.COMPLETIONS, Api.CHAT})


def find_api(method: bytes, path: str) -> Api | None:
    """The form that a request speaks, or None for one that is only passed on.

    Args:
        method: only POST generates.
        path: without query; anything may stand before the known part, as with `--root-path`.
    """
    if method != b"POST":
        return None
    whole = path.rstrip("/")
    return next((api for api in Api if whole.endswith(api.value)), None)


def takes_stream_options(api: Api) -> bool:
    """Whether `stream_options.include_usage` exists there."""
    return api in _OPENAI
