"""What the sidecar serves: a path in, an answer out. Knows nothing of sockets."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, make_wsgi_app

from specwatch_exporters.sidecar.status import Status, render_json
from specwatch_exporters.sidecar.status_page import CONTENT_SECURITY_POLICY, render_page

LOG = logging.getLogger("specwatch.serve")
TEXT = "text/plain; charset=utf-8"
METHODS = ("GET", "HEAD")
CHANGE = "PUT"
_ODD_VERSION = re.compile(r'version\s*=\s*(?!"?\d{1,4}(\.\d{1,4}){0,3}"?\s*([;,]|$))', re.ASCII)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer.

    Attributes:
        status: HTTP status.
        content_type: of the body.
        body: not compressed.
        headers: further headers.
    """

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


Page = Callable[[str, str], Answer]
"""Makes a page, from the query and the Accept header."""


@dataclass(frozen=True, slots=True)
class Change:
    """A request to change something.

    Attributes:
        headers: by name in lower case; of one that comes twice the last.
        body: whole.
        peer: the client's address.
    """

    headers: Mapping[str, str]
    body: bytes
    peer: str


Changer = Callable[[Change], Answer]
"""Changes something, if whoever asks may."""


class MetricsSite:
    """Pages of any sidecar: its own, `/metrics`, `/readyz` and `/healthz`.

    Pages are made one at a time: they take the interpreter's lock anyway, and ten readers at once would only hold
    ten copies in memory. `/healthz` does not wait.

    Args:
        registry: what `/metrics` shows.
        ready: whether the sidecar does its work, and if not, why.
        own: further pages by path, each with a few words on it.
        changers: what may be changed by PUT, by path.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        ready: Callable[[], tuple[bool, str]],
        own: Mapping[str, tuple[str, Page]],
        changers: Mapping[str, Changer] = MappingProxyType({}),
    ) -> None:
        self._changers = dict(changers)
        # Its negotiation is kept, its compression is not: level 9 costs several times the rendering.
        self._metrics_app: Callable[..., list[bytes]] = make_wsgi_app(registry, disable_compression=True)
        self._ready = ready
        self._one_at_a_time = threading.Lock()
        self._pages: Mapping[str, tuple[str, Page]] = {
            **own,
            "/metrics": ("metrics, Prometheus text or OpenMetrics by the Accept header", self._metrics),
            "/readyz": ("200 while the engine is being read, else 503 with the reason", self._readiness),
            "/healthz": ("200 while this process lives", _health),
        }

    def changer(self, target: str) -> Changer | None:
        """What changes the thing at a target, or None if nothing there can be changed."""
        return self._changers.get(_split(target)[0])

    def answer(self, method: str, target: str, accept: str) -> Answer:
        """Answer a request.

        Args:
            method: HTTP method.
            target: request target: path and query.
            accept: value of the Accept header, or empty.

        Returns:
            The answer; an error while making a page becomes 500, with one line in the log.
        """
        if method not in METHODS:
            return _text(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD.\n", ("Allow", ", ".join(METHODS)))
        path, query = _split(target)
        _, make = self._pages.get(path, ("", self._missing))
        try:
            if make is _health:
                return make(query, accept)
            with self._one_at_a_time:
                return make(query, accept)
        except Exception as error:  # whatever a collector raises, the server lives
            LOG.log(logging.ERROR, "%s failed: %s: %s", path, type(error).__name__, error, exc_info=_debugging())
            return _text(
                HTTPStatus.INTERNAL_SERVER_ERROR, "This page could not be made; the sidecar's log says why.\n"
            )

    def _metrics(self, query: str, accept: str) -> Answer:
        collected: dict[str, Any] = {}

        def start(status: str, headers: list[tuple[str, str]]) -> None:
            collected.update(status=int(status[:3]), headers=dict(headers))

        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics", "QUERY_STRING": query}
        if not _ODD_VERSION.search(accept):  # prometheus_client 0.26 fails on a version that is no number
            environ["HTTP_ACCEPT"] = accept
        body = b"".join(self._metrics_app(environ, start))
        return Answer(collected["status"], collected["headers"]["Content-Type"], body, (("Vary", "Accept"),))

    def _readiness(self, _query: str, _accept: str) -> Answer:
        ready, reason = self._ready()
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return _text(status, f"{reason or ('ready' if ready else 'not ready')}\n")

    def _missing(self, _query: str, _accept: str) -> Answer:
        rows = [f"  {path:<14}{what}" for path, (what, _) in self._pages.items()]
        return _text(HTTPStatus.NOT_FOUND, "\n".join(["There is no such page. These exist:", *rows, ""]))


class Site(MetricsSite):
    """The scrape sidecar's pages.

    Args:
        registry: what `/metrics` shows.
        status: what the status page shows.
        ready: whether the engine is being read, and if not, why.
    """

    def __init__(
        self, registry: CollectorRegistry, status: Callable[[], Status], ready: Callable[[], tuple[bool, str]]
    ) -> None:
        self._status = status
        own = {
            "/": ("status page", self._page),
            "/status.json": ("the status page's content as JSON", self._json),
        }
        super().__init__(registry, ready, own)

    def _page(self, _query: str, _accept: str) -> Answer:
        policy = (("Content-Security-Policy", CONTENT_SECURITY_POLICY), ("Referrer-Policy", "no-referrer"))
        return Answer(HTTPStatus.OK, "text/html; charset=utf-8", render_page(self._status()), policy)

    def _json(self, _query: str, _accept: str) -> Answer:
        return Answer(HTTPStatus.OK, "application/json", render_json(self._status()))


def _debugging() -> bool:
    """A traceback is for whoever asked for one; by default a failing page is one line."""
    return LOG.isEnabledFor(logging.DEBUG)


def _health(_query: str, _accept: str) -> Answer:
    return _text(HTTPStatus.OK, "alive\n")


def _text(status: HTTPStatus, text: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, TEXT, text.encode("utf-8", errors="backslashreplace"), headers)


def _split(target: str) -> tuple[str, str]:
    """Path without a slash at its end, and query."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return "", ""
    return parts.path.rstrip("/") or "/", parts.query
