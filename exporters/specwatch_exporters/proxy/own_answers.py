"""Answers that the sidecar gives itself, because a request cannot be passed on."""

from __future__ import annotations

import json
from enum import Enum
from http import HTTPStatus

from specwatch_exporters.proxy.http_head import Header


class Refusal(Enum):
    """Why a request cannot be passed on: status and message."""

    MALFORMED = (400, "The request is not valid HTTP/1.1.")
    METHOD = (405, "The sidecar passes requests on to its engine; CONNECT is not served.")
    BODY_TOO_LARGE = (413, "The body is larger than the sidecar's limit.")
    TARGET_TOO_LONG = (414, "The request target is longer than the sidecar's limit.")
    PIPELINE = (429, "Too many requests wait on this connection.")
    HEAD_TOO_LARGE = (431, "The head is larger than the sidecar's limit.")
    CODING = (501, "Transfer codings other than chunked are not passed on.")
    LOOP = (508, "The sidecar's upstream is the sidecar itself.")
    UNREACHABLE = (502, "The engine cannot be reached.")
    BAD_ANSWER = (502, "The engine's answer is not valid HTTP/1.1.")
    NO_ANSWER = (502, "The engine closed the connection without an answer.")
    CONNECT_TIMEOUT = (504, "The engine did not accept a connection in time.")

    @property
    def status(self) -> int:
        """HTTP status."""
        return self.value[0]

    @property
    def message(self) -> str:
        """One sentence for the client."""
        return self.value[1]


def refusal_bytes(refusal: Refusal, *, keep_alive: bool, head_only: bool = False) -> bytes:
    """The whole answer, in the shape that OpenAI clients read.

    Args:
        refusal: what to say.
        keep_alive: whether the connection stays open.
        head_only: leave the body out, in answer to HEAD.
    """
    error = {"message": f"specwatch: {refusal.message}", "type": "proxy_error", "code": refusal.status}
    body = json.dumps({"error": error}).encode()
    headers: list[Header] = [
        (b"Content-Type", b"application/json"),
        (b"Content-Length", b"%d" % len(body)),
    ]
    if not keep_alive:
        headers.append((b"Connection", b"close"))
    phrase = HTTPStatus(refusal.status).phrase.encode()
    lines = [b"HTTP/1.1 %d %b" % (refusal.status, phrase), *(key + b": " + text for key, text in headers), b"", b""]
    return b"\r\n".join(lines) + (b"" if head_only else body)
