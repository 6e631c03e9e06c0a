"""Fetch one page, whatever the other side does.

One connection per fetch. Keeping it would save one loopback handshake and cost more than that: uvicorn closes idle
connections after 5 s, the usual scrape interval, so every scrape would race with it; after a rollout behind a
Service the kept connection still leads to the old pod; and only a fresh one tells `refused` from `timeout`.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from specwatch_exporters.sidecar.body_decoder import Decoder, GzipBody, PlainBody, too_large
from specwatch_exporters.sidecar.connection import connect
from specwatch_exporters.sidecar.deadline import ByteLimitError, Deadline, DeadlineReader
from specwatch_exporters.sidecar.endpoint import Endpoint
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError
from specwatch_exporters.sidecar.resolve import Resolver
from specwatch_exporters.sidecar.response_verdict import check_body, check_status, printable

if TYPE_CHECKING:
    from specwatch_exporters.sidecar.tls_trust import TlsTrust

HEADERS: Mapping[str, str] = {
    # Text only. prometheus_client, which serves vLLM's and SGLang's pages, ignores q-values: it answers OpenMetrics
    # whenever that is listed at all, and OpenMetrics brings exemplars and a stricter, slower parser. vLLM's Rust
    # frontend sends OpenMetrics whatever is asked, and JSON endpoints ignore the header.
    "Accept": "text/plain;version=0.0.4, */*;q=0.1",
    "Accept-Encoding": "gzip",
    "User-Agent": "specwatch",
    "Connection": "close",
}
_STEP = 65_536
_HEAD_BYTES = 262_144
_RESOLVER = Resolver()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much to accept.

    Attributes:
        received_bytes: body as it comes over the wire.
        body_bytes: body after decompression.
    """

    received_bytes: int = 16 * 2**20
    body_bytes: int = 16 * 2**20


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page.

    Attributes:
        status: 200.
        content_type: as sent, or empty.
        body: decompressed; never empty.
        elapsed_s: from the name lookup to the last byte.
        framed: whether a length or chunks prove that the body is whole; otherwise its end is the connection's.
    """

    status: int
    content_type: str
    body: bytes
    elapsed_s: float
    framed: bool = True


def fetch(
    url: str,
    *,
    timeout_s: float,
    limits: Limits = LIMITS,
    headers: Mapping[str, str] | None = None,
    token_file: Path | None = None,
    tls: TlsTrust | None = None,
    resolver: Resolver = _RESOLVER,
    clock: Callable[[], float] = time.monotonic,
) -> Fetched:
    """GET one URL within one deadline, leaving no thread and no socket behind.

    Args:
        url: http or https; `user:password@` becomes Basic authorization and is never shown.
        timeout_s: for everything: lookup, connection, handshake, head and body.
        limits: sizes to accept.
        headers: to send besides, or instead of, `HEADERS`.
        token_file: file with a bearer token, read at each call because tokens rotate.
        tls: whom to trust over https; the system's authorities by default.
        resolver: looks names up.
        clock: monotonic seconds.

    Raises:
        FetchError: anything but a complete page with status 200.
    """
    began = clock()
    try:
        endpoint = Endpoint.parse(url)
    except ValueError as error:
        raise FetchError(Cause.SETTINGS, f"the address cannot be used: {error}") from None
    try:
        sent = {**HEADERS, **_authorization(endpoint, token_file), **(headers or {})}
        deadline = Deadline(timeout_s, clock)
        with closing(connect(endpoint, deadline, resolver, tls)) as sock:
            content_type, body, framed = _ask(_Link(sock, deadline, limits), endpoint, sent, limits)
    except FetchError as error:
        limit = f" (limit {timeout_s:g} s)" if error.cause is Cause.TIMEOUT else ""
        raise FetchError(error.cause, f"{endpoint.display}: {error.message}{limit}", error.status) from error
    return Fetched(http.client.OK, content_type, body, clock() - began, framed)


class _Link:
    """What http.client needs of a socket; every operation keeps the deadline."""

    def __init__(self, sock: socket.socket, deadline: Deadline, limits: Limits) -> None:
        self._sock = sock
        self._deadline = deadline
        self.reader = DeadlineReader(sock, deadline, limits.received_bytes + _HEAD_BYTES)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self.reader, _STEP)

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.remaining())
        self._sock.sendall(data)

    def close(self) -> None:
        """Do nothing: http.client lets go before the body is read, and the socket's owner closes it."""


def _ask(link: _Link, endpoint: Endpoint, headers: Mapping[str, str], limits: Limits) -> tuple[str, bytes, bool]:
    with closing(_exchange(link, endpoint, headers)) as response:
        check_status(response, endpoint)
        content_type = response.headers.get("Content-Type", "")
        framed = bool(response.chunked) or response.length is not None
        body = _read(response, link, limits)
    check_body(content_type, body)
    return content_type, body, framed


def _exchange(link: _Link, endpoint: Endpoint, headers: Mapping[str, str]) -> http.client.HTTPResponse:
    """Send the request, read the head of the answer."""
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port)
    connection.sock = cast("socket.socket", link)
    try:
        connection.request("GET", endpoint.target, headers=dict(headers))
        return connection.getresponse()
    except TimeoutError:
        raise FetchError(Cause.TIMEOUT, f"connected, {_progress(link)}") from None
    except http.client.RemoteDisconnected as error:
        raise FetchError(Cause.PROTOCOL, "closed the connection without an answer") from error
    except http.client.BadStatusLine as error:
        raise FetchError(Cause.PROTOCOL, _not_http(str(error))) from error
    except http.client.HTTPException as error:
        raise FetchError(Cause.PROTOCOL, f"sent a malformed head ({printable(str(error))})") from error
    except ByteLimitError as error:
        raise FetchError(Cause.TOO_LARGE, "sent a head without end") from error
    except OSError as error:
        raise FetchError(Cause.PROTOCOL, f"broke the connection off before an answer ({error.strerror})") from error


def _progress(link: _Link) -> str:
    received = link.reader.received
    return f"and the head of the answer stopped after {received} bytes" if received else "and no answer came"


def _not_http(line: str) -> str:
    if line.startswith("\x15\x03"):
        return "speaks TLS; write https"
    return f"does not speak HTTP (it began with {printable(line.strip(), 40)})"


def _read(response: http.client.HTTPResponse, link: _Link, limits: Limits) -> bytes:
    """Read the whole body; short, endless, oversized and damaged ones are errors."""
    decoder = _decoder(response, limits)
    if response.length is not None and response.length > limits.received_bytes:
        raise too_large(limits.received_bytes)
    try:
        received = _pump(response, decoder, limits.received_bytes)
    except TimeoutError:
        raise FetchError(Cause.TIMEOUT, f"the answer stopped after {link.reader.received} bytes") from None
    except ByteLimitError as error:
        raise too_large(limits.received_bytes) from error
    except http.client.IncompleteRead as error:
        raise FetchError(Cause.TRUNCATED, f"the answer broke off after {link.reader.received} bytes") from error
    except (http.client.HTTPException, ValueError, OverflowError) as error:
        raise FetchError(Cause.PROTOCOL, "sent a body that is malformed HTTP") from error
    except OSError as error:
        raise FetchError(Cause.TRUNCATED, f"the connection broke after {link.reader.received} bytes") from error
    if response.length:  # what Content-Length still promised
        raise FetchError(Cause.TRUNCATED, f"the body ended after {received} of {received + response.length} bytes")
    return decoder.finish()


def _pump(response: http.client.HTTPResponse, decoder: Decoder, max_bytes: int) -> int:
    """Feed the body to the decoder; returns how much came."""
    received = 0
    while data := response.read(_STEP):
        received += len(data)
        if received > max_bytes:
            raise too_large(max_bytes)
        decoder.feed(data)
    return received


def _decoder(response: http.client.HTTPResponse, limits: Limits) -> Decoder:
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding in {"gzip", "x-gzip"}:
        return GzipBody(limits.body_bytes)
    if coding in {"", "identity"}:
        return PlainBody(limits.body_bytes)
    raise FetchError(Cause.PROTOCOL, f"sent the body as {printable(coding, 20)}, which was not asked for")


def _authorization(endpoint: Endpoint, token_file: Path | None) -> dict[str, str]:
    if token_file is not None:
        return {"Authorization": f"Bearer {read_token(token_file)}"}
    return {} if endpoint.authorization is None else {"Authorization": endpoint.authorization}


def read_token(path: Path) -> str:
    """Read a bearer token; its first and last white space is not part of it.

    Raises:
        FetchError: cause `settings`: the file cannot be read or holds no token. The message never repeats it.
    """
    try:
        token = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise FetchError(Cause.SETTINGS, f"the token file {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise FetchError(Cause.SETTINGS, f"the token file {path} holds characters that a header cannot") from None
    if not token or not token.isprintable() or " " in token:
        raise FetchError(Cause.SETTINGS, f"the token file {path} holds no token, or more than one line")
    return token
