"""Responses from an engine's bytes: llhttp parses, this bounds and checks."""

from __future__ import annotations

from dataclasses import dataclass, field

import httptools

from specwatch_exporters.proxy.http_head import Framing, Header, Headers, ResponseHead
from specwatch_exporters.proxy.proxy_limits import ProxyLimits


class AnswerError(Exception):
    """The engine's bytes are no valid answer."""


@dataclass(slots=True)
class Received:
    """What one read from the engine brought.

    Attributes:
        interim: interim responses that came before the head.
        head: the response's head, if it was completed.
        body: bytes of the body.
        end: True when the response is complete.
        trailers: fields behind a chunked body.
    """

    interim: list[ResponseHead] = field(default_factory=list)
    head: ResponseHead | None = None
    body: bytes = b""
    end: bool = False
    trailers: list[Header] = field(default_factory=list)


class ResponseParser:
    """Parses the response to one request; make a new one for the next.

    Args:
        method: of the request; HEAD has no body in its answer, which llhttp cannot know.
        limits: of heads.

    Attributes:
        reusable: whether the connection may serve another request, once the response is complete.
    """

    def __init__(self, method: bytes, limits: ProxyLimits) -> None:
        self._method = method
        self._limits = limits
        self._parser = httptools.HttpResponseParser(self)
        self._received = Received()
        self._parts: list[bytes] = []
        self._framing = Framing.NONE
        self._in_head = True
        self._bodiless = False
        self._ended = False
        self._past_head = False
        self._unfinished = 0
        self._failure = ""
        self.reusable = False
        self._start()

    def feed(self, data: bytes) -> Received:
        """Take the next bytes.

        Raises:
            AnswerError: they are malformed, over a limit, or come behind the response's end.
        """
        got = self._received = Received()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._ended:
                raise AnswerError(self._failure or str(error)) from None
            self.reusable = False
        if self._parts:
            got.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts = []
            self._unfinished = 0
        elif self._past_head:
            self._past_head = False
            self._unfinished = 0
        else:  # a head, or trailers, that the read does not end; as in the parser of requests
            self._unfinished += len(data)
            if self._unfinished > self._limits.head_bytes:
                raise AnswerError("the head is too large")
        return got

    def end_of_stream(self) -> bool:
        """The connection ended in good order: whether that completes the response."""
        complete = self._framing is Framing.CLOSE and not self._in_head and not self._ended
        self._ended = self._ended or complete
        return complete

    def _start(self) -> None:
        self._reason = b""
        self._headers: list[Header] = []
        self._size = 0
        self._fields = 0

    def on_message_begin(self) -> None:
        """A head begins (llhttp)."""
        if self._ended:
            self._fail("bytes behind the end of the response")
        self._start()
        self._in_head = True

    def on_status(self, part: bytes) -> None:
        """A part of the reason phrase (llhttp)."""
        self._reason += part

    def on_header(self, name: bytes, content: bytes) -> None:
        """A field of the head, or of the trailers (llhttp)."""
        self._size += len(name) + len(content) + 4
        self._fields += 1
        if self._size > self._limits.head_bytes or self._fields > self._limits.head_fields:
            self._fail("the head is too large")
        (self._headers if self._in_head else self._received.trailers).append((name, content))

    def on_headers_complete(self) -> None:
        """The head is complete (llhttp)."""
        status = self._parser.get_status_code()
        headers = Headers(self._headers)
        coding = headers.get(b"transfer-encoding")
        if status == 101:
            self._fail("it switches protocols unasked")
        if coding is not None and coding.lower() != b"chunked":
            self._fail("a transfer coding other than chunked")
        head = ResponseHead(status, self._reason, headers)
        self._past_head, self._in_head = True, False
        self._size = self._fields = 0
        if status < 200:
            self._received.interim.append(head)
            return
        self._received.head = head
        self._framing = head.framing
        if not head.has_body(self._method):
            self._bodiless = True
            self._end(keep_alive=self._parser.should_keep_alive())

    def on_body(self, data: bytes) -> None:
        """A part of the body (llhttp)."""
        if self._bodiless:
            self._fail("a body where none may be")
        self._parts.append(data)

    def on_message_complete(self) -> None:
        """The response is complete (llhttp)."""
        if self._parser.get_status_code() < 200:
            self._in_head = True
        elif not self._ended:
            self._end(keep_alive=self._parser.should_keep_alive())

    def _end(self, *, keep_alive: bool) -> None:
        self._ended = True
        self._received.end = True
        self.reusable = keep_alive

    def _fail(self, reason: str) -> None:
        self._failure = reason
        raise AnswerError(reason)
