"""Requests from a client's bytes: llhttp parses, this bounds and checks."""

from __future__ import annotations

from typing import Protocol

import httptools

from specwatch_exporters.proxy.http_head import Header, Headers, RequestHead
from specwatch_exporters.proxy.own_answers import Refusal
from specwatch_exporters.proxy.proxy_limits import ProxyLimits

_VERSIONS = frozenset({"1.0", "1.1"})
_UPGRADE_FIELDS = frozenset({b"upgrade", b"http2-settings"})


class RefusedError(Exception):
    """A request cannot be passed on.

    Attributes:
        refusal: what to tell the client.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class RequestSink(Protocol):
    """Receives requests in order; each head is followed by its body and its end."""

    def request_head(self, head: RequestHead) -> None:
        """A request begins."""

    def request_body(self, data: bytes) -> None:
        """A part of its body."""

    def request_end(self, trailers: list[Header]) -> None:
        """It is complete."""


class RequestParser:
    """Parses one connection's requests.

    An offer to upgrade the protocol is ignored, as RFC 9110 section 7.8 allows; the request is served as it is.
    llhttp does not tell where in a read a head or a body ends, so bytes of an unfinished head are counted from the
    first read that ends neither.

    Args:
        sink: receives the requests.
        limits: of heads and targets.
    """

    def __init__(self, sink: RequestSink, limits: ProxyLimits) -> None:
        self._sink = sink
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self._refusal: Refusal | None = None
        self._version = ""
        self._past_head = False
        self._unfinished = 0
        self._in_head = True
        self._upgrading = False
        self._start()

    def feed(self, data: bytes) -> None:
        """Take the next bytes.

        Raises:
            RefusedError: they are malformed or over a limit; the connection cannot be read any further.
        """
        self._past_head = False
        offset = self._feed(data)
        if offset is not None:
            self._resume(data[offset:])
        elif self._past_head:
            self._unfinished = 0
        else:
            self._unfinished += len(data)
            if self._unfinished > self._limits.head_bytes:
                raise RefusedError(Refusal.HEAD_TOO_LARGE)

    def _feed(self, data: bytes) -> int | None:
        """Let llhttp parse; returns where it stopped behind a head with an offer to upgrade, or None."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            offset: int = upgrade.args[0]
            return offset
        except httptools.HttpParserCallbackError as error:
            if self._refusal is None and error.__context__ is not None:
                raise error.__context__ from None  # the sink's own
            raise RefusedError(self._refusal or Refusal.MALFORMED) from None
        except httptools.HttpParserError:
            raise RefusedError(Refusal.MALFORMED) from None
        return None

    def _start(self) -> None:
        self._target = b""
        self._headers: list[Header] = []
        self._trailers: list[Header] = []
        self._size = 0
        self._fields = 0

    def _resume(self, rest: bytes) -> None:
        """Read the request again without its offer to upgrade: llhttp stops behind the head of one with it."""
        head = [b"%b %b HTTP/%b" % (self._parser.get_method(), self._target, self._version.encode())]
        for key, content in self._headers:
            name = key.lower()
            if name not in _UPGRADE_FIELDS:
                head.append(key + b": " + (_without_upgrade(content) if name == b"connection" else content))
        self._parser = httptools.HttpRequestParser(self)
        self._upgrading = False
        self.feed(b"\r\n".join((*head, b"", b"")) + rest)

    def _refuse(self, refusal: Refusal) -> None:
        self._refusal = refusal
        raise RefusedError(refusal)

    def on_message_begin(self) -> None:
        """A head begins (llhttp)."""
        self._start()
        self._in_head = True

    def on_url(self, part: bytes) -> None:
        """A part of the target (llhttp)."""
        self._target += part
        if len(self._target) > self._limits.target_bytes:
            self._refuse(Refusal.TARGET_TOO_LONG)

    def on_header(self, name: bytes, content: bytes) -> None:
        """A field of the head, or of the trailers (llhttp)."""
        self._size += len(name) + len(content) + 4
        self._fields += 1
        if self._size > self._limits.head_bytes or self._fields > self._limits.head_fields:
            self._refuse(Refusal.HEAD_TOO_LARGE)
        (self._headers if self._in_head else self._trailers).append((name, content))

    def on_headers_complete(self) -> None:
        """The head is complete (llhttp)."""
        version = self._parser.get_http_version()
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse(Refusal.METHOD)
        if version not in _VERSIONS:
            self._refuse(Refusal.MALFORMED)
        headers = Headers(self._headers)
        coding = headers.get(b"transfer-encoding")
        if coding is not None and coding.lower() != b"chunked":
            self._refuse(Refusal.CODING)
        self._past_head, self._in_head = True, False
        self._version = version
        self._size = self._fields = 0
        if self._parser.should_upgrade():
            self._upgrading = True
            return
        keep_alive = self._parser.should_keep_alive()
        self._sink.request_head(RequestHead(method, self._target, version, headers, keep_alive))

    def on_body(self, data: bytes) -> None:
        """A part of the body (llhttp)."""
        self._past_head = True
        self._sink.request_body(data)

    def on_message_complete(self) -> None:
        """The request is complete (llhttp)."""
        self._past_head = True
        if not self._upgrading:
            self._sink.request_end(self._trailers)


def _without_upgrade(tokens: bytes) -> bytes:
    kept = (token.strip() for token in tokens.split(b","))
    return b", ".join(token for token in kept if token.lower() not in _UPGRADE_FIELDS)
