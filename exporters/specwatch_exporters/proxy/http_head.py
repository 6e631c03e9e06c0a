"""Heads of HTTP messages: what crosses the sidecar, what belongs to one hop only, and how the body is framed.

Parsing is llhttp's. Source of the rules: RFC 9110 section 7.6.1 (fields of one hop), RFC 9112 section 6 (framing).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

Header = tuple[bytes, bytes]

_ONE_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"transfer-encoding",
        b"upgrade",
    }
)
_LENGTH, _CODING = b"content-length", b"transfer-encoding"
# Fields that `Connection` cannot take away: a client must not strip what routing, framing or trust depends on.
_PROTECTED = frozenset({b"host", _LENGTH, b"content-type", b"authorization", b"content-encoding"})
_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_CHUNKED: Header = (b"Transfer-Encoding", b"chunked")


class Framing(Enum):
    """How the end of a body is told."""

    NONE = "none"
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"


class Headers:
    """Fields of a head, in order and as they were written.

    Args:
        pairs: names and values.
    """

    __slots__ = ("_first", "pairs")

    def __init__(self, pairs: Sequence[Header] = ()) -> None:
        self.pairs = pairs
        self._first: dict[bytes, bytes] | None = None

    def get(self, name: bytes) -> bytes | None:
        """The first value of a field, by its lower-case name."""
        if self._first is None:
            self._first = {key.lower(): content for key, content in reversed(self.pairs)}
        return self._first.get(name)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Head of a request as the client sent it.

    Attributes:
        method: in upper case.
        target: request target, raw.
        version: `1.0` or `1.1`.
        headers: in order, names as written.
        keep_alive: whether the client wants to keep the connection.
    """

    method: bytes
    target: bytes
    version: str
    headers: Headers
    keep_alive: bool

    @property
    def path(self) -> str:
        """The target's path, without query."""
        return origin_form(self.target).partition(b"?")[0].partition(b"#")[0].decode("latin-1")

    @property
    def framing(self) -> Framing:
        """Framing of the request's body: none, a length, or chunks."""
        if self.headers.get(_CODING) is not None:
            return Framing.CHUNKED
        return Framing.LENGTH if self.length else Framing.NONE

    @property
    def length(self) -> int | None:
        """Declared length of the body in bytes, or None."""
        declared = self.headers.get(_LENGTH)
        return None if declared is None else int(declared)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Head of a response as the engine sent it.

    Attributes:
        status: status code.
        reason: reason phrase, may be empty.
        headers: in order, names as written.
    """

    status: int
    reason: bytes
    headers: Headers

    def has_body(self, method: bytes) -> bool:
        """Whether a body may follow in answer to a method."""
        return method != b"HEAD" and self.status >= 200 and self.status not in (204, 304)

    @property
    def framing(self) -> Framing:
        """Framing of the body, if there may be one."""
        if self.headers.get(_CODING) is not None:
            return Framing.CHUNKED
        return Framing.CLOSE if self.headers.get(_LENGTH) is None else Framing.LENGTH


class Route(NamedTuple):
    """How a request names the engine.

    Attributes:
        prefix: path of the engine's address, put before the target.
        authority: the engine's own `Host`.
        rewrite_host: send it instead of the client's.
    """

    prefix: bytes = b""
    authority: bytes = b""
    rewrite_host: bool = False


def origin_form(target: bytes) -> bytes:
    """The target without scheme and authority: a client may not choose another server."""
    found = _ABSOLUTE.match(target)
    if found is None:
        return target
    rest = target[found.end() :]
    return rest if rest.startswith(b"/") else b"/" + rest


def end_to_end(headers: Headers) -> list[Header]:
    """The fields without those of one hop: the known ones, and those that `Connection` names."""
    dropped = _ONE_HOP
    if headers.get(b"connection") is not None:
        lines = (content for key, content in headers.pairs if key.lower() == b"connection")
        named = {token.strip().lower() for content in lines for token in content.split(b",")}
        dropped = _ONE_HOP | (named - _PROTECTED)
    return [header for header in headers.pairs if header[0].lower() not in dropped]


def without(headers: Iterable[Header], name: bytes) -> list[Header]:
    """The headers without one field, by its lower-case name."""
    return [header for header in headers if header[0].lower() != name]


def uncoded(headers: Iterable[Header]) -> list[Header]:
    """The headers, but an answer that is to be changed is not to be compressed."""
    return [(key, b"identity") if key.lower() == b"accept-encoding" else (key, text) for key, text in headers]


def request_bytes(head: RequestHead, route: Route, length: int | None) -> bytes:
    """Serialise a request for the engine.

    Args:
        head: as the client sent it.
        route: to the engine.
        length: length of the body where the sidecar holds it whole; None keeps the client's framing.
    """
    headers = _with_host(head, end_to_end(head.headers), route)
    if length is not None:
        headers = [*without(headers, _LENGTH), (b"Content-Length", b"%d" % length)]
    elif head.framing is Framing.CHUNKED:
        headers.append(_CHUNKED)
    if b"trailers" in (head.headers.get(b"te") or b"").lower():
        headers += [(b"TE", b"trailers"), (b"Connection", b"TE")]
    target = origin_form(head.target)
    if target != b"*":
        target = route.prefix + target
    return _serialise(b"%b %b HTTP/1.1" % (head.method, target), headers)


def _with_host(head: RequestHead, headers: list[Header], route: Route) -> list[Header]:
    """HTTP/1.0 knows requests without `Host`; in HTTP/1.1 such a one is wrong (RFC 9112, 3.2) and stays so."""
    if head.headers.get(b"host") is None:
        added = route.rewrite_host or head.version == "1.0"
        return [(b"Host", route.authority), *headers] if added else headers
    if not route.rewrite_host:
        return headers
    return [(key, route.authority) if key.lower() == b"host" else (key, content) for key, content in headers]


def response_bytes(head: ResponseHead, *, framing: Framing, client: RequestHead, keep_alive: bool) -> bytes:
    """Serialise a response for the client.

    Args:
        head: as the engine sent it.
        framing: towards the client; for an answer without a body, how the engine described it.
        client: the request that is answered.
        keep_alive: whether the connection stays open behind the answer.
    """
    headers = end_to_end(head.headers)
    if framing is Framing.CHUNKED:
        headers = [*without(headers, _LENGTH), _CHUNKED]
    elif framing is Framing.CLOSE:
        headers = without(headers, _LENGTH)
    if not keep_alive:
        headers.append((b"Connection", b"close"))
    elif client.version == "1.0":
        headers.append((b"Connection", b"keep-alive"))
    return _serialise(b"HTTP/1.1 %d %b" % (head.status, head.reason), headers)


def interim_bytes(head: ResponseHead) -> bytes:
    """Serialise an interim response (100, 103) for the client."""
    return _serialise(b"HTTP/1.1 %d %b" % (head.status, head.reason), end_to_end(head.headers))


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; `data` must not be empty."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def last_chunk(trailers: Sequence[Header]) -> bytes:
    """The end of a chunked body."""
    if not trailers:
        return b"0\r\n\r\n"
    return b"0\r\n" + b"".join(key + b": " + content + b"\r\n" for key, content in trailers) + b"\r\n"


def _serialise(first_line: bytes, headers: Iterable[Header]) -> bytes:
    lines = [first_line, *(key + b": " + content for key, content in headers), b"", b""]
    return b"\r\n".join(lines)
