"""Is this answer a page? Status first, then what came as body."""

from __future__ import annotations

from http import HTTPStatus
from http.client import HTTPResponse
from urllib.parse import urljoin, urlsplit

from specwatch_exporters.sidecar.endpoint import Endpoint
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HTML_STARTS = (b"<!doctype html", b"<html")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_HINTS = {
    401: "it wants a token",
    403: "the token is not accepted, or there is none",
    404: "there is no metrics page at this path",
    429: "it limits how often it may be asked",
    503: "it is up and not ready",
}


def check_status(response: HTTPResponse, endpoint: Endpoint) -> None:
    """Accept 200 and nothing else.

    Raises:
        FetchError: cause `redirect` (the message names where to), `empty` (204) or `status`.
    """
    status = response.status
    location = response.headers.get("Location")
    if status == HTTPStatus.OK:
        return
    if status == HTTPStatus.NO_CONTENT:
        raise FetchError(Cause.EMPTY, "answered 204: no content", status)
    if status in _REDIRECTS and location:
        raise FetchError(Cause.REDIRECT, f"redirects ({status}) to {_where(location, endpoint)}", status)
    hint = f": {_HINTS[status]}" if status in _HINTS else ""
    reason = f" {printable(response.reason)}" if response.reason else ""
    raise FetchError(Cause.STATUS, f"answered {status}{reason}{hint}", status)


def check_body(content_type: str, body: bytes) -> None:
    """Refuse an empty body and a web page.

    Raises:
        FetchError: cause `empty` or `html`.
    """
    if not body or body.isspace():
        raise FetchError(Cause.EMPTY, "answered 200 with nothing in it")
    start = body[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    declared = content_type.strip().lower().startswith(_HTML_TYPES)
    if declared or start.startswith(_HTML_STARTS):
        raise FetchError(Cause.HTML, "answered with a web page, not with metrics")


def printable(text: str, limit: int = 120) -> str:
    """Text from the other side, safe to put into one line of a log."""
    shown = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text[:limit])
    return shown if len(text) <= limit else f"{shown}..."


def _where(location: str, endpoint: Endpoint) -> str:
    """The target of a redirect: its host, and its path when that is all that differs."""
    try:
        target = urlsplit(urljoin(endpoint.display, location))
        host, port = target.hostname or "", target.port
    except ValueError:
        return "an address that is malformed"
    place = f"[{host}]" if ":" in host else host
    authority = place if port is None else f"{place}:{port}"
    return f"{printable(target.scheme)}://{printable(authority)}{printable(target.path)}, which is not followed"
