"""One request on one connection, with bounds on time and size; the connection closes after it."""

from __future__ import annotations

import gzip
import io
import logging
import re
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from specwatch_exporters.sidecar.deadline import ByteLimitError, Deadline, DeadlineReader
from specwatch_exporters.sidecar.site import CHANGE, TEXT, Answer, Change, Changer, MetricsSite

LOG = logging.getLogger("specwatch.serve")
HEAD_S = 5.0
ANSWER_S = 10.0
HEAD_BYTES = 16_384
BODY_BYTES = 8_192
_LINGER_S = 0.5
_LINGER_BYTES = 65_536
_COMPRESS_FROM = 1_024
_COMPRESS_LEVEL = 3
_GZIP = re.compile(r"(?:^|,)\s*(?:x-)?gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))", re.ASCII | re.IGNORECASE)


class RequestHandler(BaseHTTPRequestHandler):
    """Reads a request head within `HEAD_S`, answers within `ANSWER_S`; reads a body only to change something.

    Args:
        sock: accepted connection; the caller closes it.
        site: what to serve.
    """

    protocol_version = "HTTP/1.1"

    def __init__(self, sock: socket.socket, site: MetricsSite) -> None:
        self._site = site
        super().__init__(sock, ("", 0), None)  # type: ignore[arg-type]  # no server object: the site is all it needs

    def setup(self) -> None:
        """Read through a deadline instead of through a plain socket file."""
        self.connection: socket.socket = self.request
        self.rfile = io.BufferedReader(DeadlineReader(self.connection, Deadline(HEAD_S), HEAD_BYTES), 4096)
        self.wfile = self._written = io.BytesIO()

    def handle(self) -> None:
        """Answer one request; what a client gets wrong ends in silence or an error page, never in an error."""
        self.close_connection = True
        self.command, self.request_version, self.requestline = "", self.protocol_version, ""
        try:
            self.raw_requestline = self.rfile.readline()
            if self.raw_requestline and self.parse_request():
                changer = self._site.changer(self.path) if self.command == CHANGE else None
                if changer is None:
                    answer = self._site.answer(self.command, self.path, self.headers.get("Accept", ""))
                else:
                    answer = self._changed(changer)
                self._reply(answer)
        except ByteLimitError:
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        except OSError as error:
            LOG.debug("a client was dropped: %s %s", type(error).__name__, error)

    def _changed(self, changer: Changer) -> Answer:
        """Read the body, within the bounds of the head, and hand it on."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or not length.isascii() or "Transfer-Encoding" in self.headers:
            return Answer(HTTPStatus.LENGTH_REQUIRED, TEXT, b"The body needs a Content-Length.\n")
        if len(length) > 6 or int(length) > BODY_BYTES:
            return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TEXT, b"The body is too large.\n")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionError("the client left within its body")
        headers = {name.lower(): text for name, text in self.headers.items()}
        return changer(Change(headers, body, str(self.connection.getpeername()[0])))

    def finish(self) -> None:
        """Send what was written, whole, and let the client read it before the connection closes."""
        data = self._written.getvalue()
        if not data:
            return
        try:
            self.connection.settimeout(ANSWER_S)
            self.connection.sendall(data)
            self.connection.shutdown(socket.SHUT_WR)
            self._linger()
        except OSError as error:
            LOG.debug("a client did not take its answer: %s", error)

    def _linger(self) -> None:
        """Discard a body that was not asked for: closing on unread data resets the connection under the answer."""
        deadline, left = Deadline(_LINGER_S), _LINGER_BYTES
        while left > 0:
            self.connection.settimeout(deadline.remaining())
            data = self.connection.recv(4096)
            if not data:
                return
            left -= len(data)

    def _reply(self, answer: Answer) -> None:
        body = answer.body
        self.send_response_only(answer.status)
        self.send_header("Date", self.date_time_string())
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers:
            self.send_header(name, value)
        if len(body) >= _COMPRESS_FROM and _GZIP.search(self.headers.get("Accept-Encoding", "")):
            body = gzip.compress(body, _COMPRESS_LEVEL, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a malformed request in one plain line."""
        del message, explain  # they repeat the client's words
        status = HTTPStatus(code)
        self.request_version = (
            self.protocol_version
        )  # a line that does not parse counts as HTTP/0.9: no status line
        self.headers = self.MessageClass()
        self._reply(Answer(status, TEXT, f"{status.phrase}\n".encode()))

    def handle_expect_100(self) -> bool:
        """Do not invite the body."""
        return True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing per request: scrapes and probes are many."""
