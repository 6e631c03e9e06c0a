"""A response's body, read from a copy as it passes: chunks of text, the end, and what it says about itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Protocol

from specwatch_exporters.bodies.fields import items, mapping
from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.response import record_from_json
from specwatch_exporters.bodies.sse import DONE, SseDecoder, SseOverflowError
from specwatch_exporters.bodies.stream import StreamReading
from specwatch_exporters.proxy.api_paths import Api
from specwatch_exporters.proxy.http_head import Headers
from specwatch_exporters.proxy.inflate import STEP, InflateError, Inflater, inflater
from specwatch_exporters.proxy.stream_events import ended_by_failure, stream_events

_EVENT_LIMIT: Final = 1024 * 1024
_MAX_CHOICES: Final = 128
_DECODE: Final = json.JSONDecoder().raw_decode  # half the cost of `json.loads`


@dataclass(slots=True)
class Chunk:
    """Text that one read brought for one choice.

    Attributes:
        events: events of the stream that carry it.
        tokens: how many tokens, or None if any event does not say.
    """

    events: int
    tokens: int | None


class Reading(Protocol):
    """Follows one response's body.

    Attributes:
        problem: why the body could not be read, or not whole; empty if it was.
        streamed: whether its text comes in pieces.
    """

    problem: str
    streamed: bool

    @property
    def model(self) -> str | None:
        """The model as the response names it, or None."""

    @property
    def complete(self) -> bool:
        """Whether the answer was given to its end; True where that cannot be told."""

    @property
    def failed(self) -> bool:
        """Whether it says that the engine failed."""

    def feed(self, data: bytes) -> dict[int, Chunk]:
        """Take the next bytes; returns the text in them per choice."""

    def close(self) -> None:
        """The body has ended."""

    def record(self) -> RequestRecord | None:
        """What the response says about tokens, times and speculation."""


def read_response(api: Api, headers: Headers, limit: int) -> Reading:
    """The reading of a response with these headers.

    Args:
        api: form of the request.
        headers: of the response.
        limit: bytes of a body that does not come in events; a larger one is not read.
    """
    kind = (headers.get(b"content-type") or b"").partition(b";")[0].strip().lower()
    streamed = kind == b"text/event-stream"
    try:
        inflate = inflater(headers.get(b"content-encoding"), STEP if streamed else limit)
    except InflateError:
        return Unread("encoding", streamed=streamed)
    if streamed:
        return StreamedReading(api, inflate)
    if kind in (b"application/json", b""):
        return WholeReading(inflate, limit)
    return Unread("media_type", streamed=False)


class Unread:
    """A body that cannot be read."""

    model = None
    complete = True
    failed = False

    def __init__(self, problem: str, *, streamed: bool) -> None:
        self.problem = problem
        self.streamed = streamed

    def feed(self, _data: bytes) -> dict[int, Chunk]:
        """See `Reading`."""
        return {}

    def close(self) -> None:
        """See `Reading`."""

    def record(self) -> RequestRecord | None:
        """See `Reading`."""
        return None


class WholeReading:
    """A body of one JSON object, kept until it is complete."""

    complete = True
    streamed = False

    def __init__(self, inflate: Inflater, limit: int) -> None:
        self.problem = ""
        self.failed = False
        self._inflate = inflate
        self._limit = limit
        self._body = bytearray()
        self._record: RequestRecord | None = None

    @property
    def model(self) -> str | None:
        """See `Reading`."""
        return None if self._record is None else self._record.model

    def feed(self, data: bytes) -> dict[int, Chunk]:
        """See `Reading`."""
        if not self.problem:
            try:
                self._body += self._inflate.feed(data)
            except InflateError:
                self._give_up("damaged")
            if len(self._body) > self._limit:
                self._give_up("too_large")
        return {}

    def close(self) -> None:
        """See `Reading`."""
        if self.problem:
            return
        try:
            body = json.loads(self._body)
            self._record = _record(body)
            self.failed = _says_failed(body)
        except (ValueError, RecursionError):
            self._give_up("damaged")
        self._body.clear()

    def record(self) -> RequestRecord | None:
        """See `Reading`."""
        return self._record

    def _give_up(self, problem: str) -> None:
        self.problem = problem
        self._body.clear()


class StreamedReading:
    """A body of server-sent events."""

    streamed = True

    def __init__(self, api: Api, inflate: Inflater) -> None:
        self.problem = ""
        self._inflate = inflate
        self._decoder = SseDecoder(_EVENT_LIMIT)
        self._events = stream_events(api)

    @property
    def model(self) -> str | None:
        """See `Reading`."""
        return self._events.model

    @property
    def complete(self) -> bool:
        """See `Reading`."""
        return self._events.complete or bool(self.problem)

    @property
    def failed(self) -> bool:
        """See `Reading`."""
        return self._events.failed

    def feed(self, data: bytes) -> dict[int, Chunk]:
        """See `Reading`."""
        if self.problem == "stream":
            return {}
        try:
            return self._take(self._decoder.feed(self._inflate.feed(data)))
        except (InflateError, SseOverflowError):
            self.problem = "stream"
            return {}

    def close(self) -> None:
        """See `Reading`."""
        if not self.problem:
            self._take(self._decoder.close())

    def record(self) -> RequestRecord | None:
        """See `Reading`."""
        return self._events.record()

    def _take(self, events: list[str]) -> dict[int, Chunk]:
        chunks: dict[int, Chunk] = {}
        for data in events:
            if data == DONE:
                continue
            event = _object(data)
            if event is None:
                self._note_damage(data)
                continue
            for choice, tokens in self._events.take(event):
                chunk = chunks.get(choice)
                if chunk is None:
                    chunks[choice] = Chunk(1, tokens)
                else:
                    chunk.events += 1
                    chunk.tokens = None if chunk.tokens is None or tokens is None else chunk.tokens + tokens
        return chunks

    def _note_damage(self, data: str) -> None:
        if data.strip() != DONE:
            self.problem = "event"


def _record(body: object) -> RequestRecord | None:
    """What a whole answer tells; a list of SGLang's, one object for each answer, is read as choices of a stream."""
    if not isinstance(body, list):
        return record_from_json(body)
    reading = StreamReading()
    for index, one in enumerate(body[:_MAX_CHOICES]):
        if isinstance(one, dict):
            reading.take_object({**one, "index": index})
    return reading.record()


def _says_failed(body: object) -> bool:
    """Whether a whole answer is an error, or ends with one, although its status is 200; SGLang may send a list."""
    if isinstance(body, list):
        return any(_says_failed(one) for one in body[:_MAX_CHOICES] if isinstance(one, dict))
    fields = mapping(body)
    if fields.get("error") or "error" in (fields.get("object"), fields.get("type")):
        return True
    ends = (mapping(fields.get("meta_info")), *items(fields.get("choices"))[:_MAX_CHOICES])
    return fields.get("status") == "failed" or any(map(ended_by_failure, ends))


def _object(data: str) -> dict[str, Any] | None:
    """The JSON object of an event; None if it holds none."""
    try:
        event, end = _DECODE(data)
    except (ValueError, RecursionError):
        end = -1
    if end != len(data):  # blanks around it, or no JSON
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return None
    return event if isinstance(event, dict) else None
