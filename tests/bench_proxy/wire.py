"""What travels in the comparison: requests that tell the stub how to answer, and chunks that carry their time.

The chunks have the fields of vLLM's. A token's text is the stub's clock, so that the client knows how long every
chunk was under way; the monotonic clock of Linux is one for all processes.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Final, Literal

Manner = Literal["whole", "paced", "alone", "flood"]
MODEL: Final = "stub-model"
PATH: Final = "/v1/chat/completions"
PROMPT_CHARACTERS: Final = 2000
FILLER: Final = "The quick brown fox jumps over the lazy dog. "

# How many chunks a client's report stands for, and how many such blocks are under way at most. Were there no bound,
# a slow proxy would still work off what the kernel holds for it while others are measured.
CHUNKS_A_REPORT: Final[dict[Manner, int]] = {"alone": 1, "flood": 16}
BLOCKS_AHEAD: Final[dict[Manner, int]] = {"alone": 1, "flood": 4}

_ORDER = re.compile(rb"stub manner=(\w+) rate=(\d+) chunks=(\d+) ticket=(\d+)")
_STAMPS = re.compile(rb'"content": ?"(\d{19})')
_COMMON = {"id": "chatcmpl-5c0ffee5c0ffee00", "object": "chat.completion.chunk", "created": 1, "model": MODEL}


@dataclass(frozen=True)
class StreamOrder:
    """How the stub shall answer one request.

    Attributes:
        manner: `whole`: one small JSON reply. `paced`: `rate` chunks per second. `alone`: a chunk only after the
            client has reported the one before. `flood`: blocks of chunks, several of them under way.
        rate: chunks per second, for `paced`.
        chunks: how many chunks with text.
        ticket: the stream's number, 0 to 65535, by which the client reports arrivals.
    """

    manner: Manner
    rate: int = 0
    chunks: int = 0
    ticket: int = 0


def request_body(order: StreamOrder) -> bytes:
    """A chat request whose prompt carries the order; it has as many characters as a short real one."""
    words = f"stub manner={order.manner} rate={order.rate} chunks={order.chunks} ticket={order.ticket} "
    prompt = (words + FILLER * (PROMPT_CHARACTERS // len(FILLER) + 1))[:PROMPT_CHARACTERS]
    body: dict[str, object] = {"model": MODEL, "messages": [{"role": "user", "content": prompt}]}
    if order.manner != "whole":
        body |= {"stream": True, "max_tokens": order.chunks}
    return json.dumps(body).encode()


def read_order(body: bytes) -> StreamOrder | None:
    """The order in a request's body, or None if it has none."""
    found = _ORDER.search(body)
    if found is None:
        return None
    manner, rate, chunks, ticket = found.groups()
    return StreamOrder(_manner(manner.decode()), int(rate), int(chunks), int(ticket))


def _manner(name: str) -> Manner:
    for known in ("whole", "paced", "alone", "flood"):
        if name == known:
            return known
    raise ValueError(f"the stub has no manner {name!r}")


def read_stamps(data: bytes) -> list[bytes]:
    """The stamps in a piece of a stream, in order."""
    return _STAMPS.findall(data)


def http_chunk(data: bytes) -> bytes:
    """Data as one chunk of HTTP/1.1."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    """One server-sent event as vLLM writes it."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, "token_ids": None}
    return b"data: " + json.dumps({**_COMMON, "choices": [choice]}, separators=(",", ":")).encode() + b"\n\n"


_STAMPED = http_chunk(event({"content": "0" * 19}))
_BEFORE, _, _AFTER = _STAMPED.partition(b"0" * 19)


def stamped_chunk() -> bytes:
    """A token's chunk, stamped with the time now in nanoseconds."""
    return b"%s%019d%s" % (_BEFORE, time.monotonic_ns(), _AFTER)


_HEAD = b"HTTP/1.1 200 OK\r\nserver: stub\r\ncontent-type: "
STREAM_HEAD: Final = (
    _HEAD
    + b"text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
    + http_chunk(event({"role": "assistant", "content": ""}))
)
_USAGE = {"prompt_tokens": 450, "completion_tokens": 1, "total_tokens": 451}
_USAGE_EVENT = b"data: " + json.dumps({**_COMMON, "choices": [], "usage": _USAGE}).encode() + b"\n\n"


def stream_end(*, usage: bool) -> bytes:
    """What follows the last token, with the usage event where it was asked for."""
    last = http_chunk(event({}, "stop")) + (http_chunk(_USAGE_EVENT) if usage else b"")
    return last + http_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


def whole_reply(body: bytes) -> bytes:
    """A reply with a JSON body."""
    return _HEAD + b"application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


_MESSAGE = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
SMALL_REPLY: Final = whole_reply(
    json.dumps({**_COMMON, "object": "chat.completion", "choices": [_MESSAGE], "usage": _USAGE}).encode()
)
