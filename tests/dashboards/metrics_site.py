"""A page of metrics, made anew for each scrape."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from http.server import BaseHTTPRequestHandler

from alerts.loopback_site import serving


def serving_metrics(page: Callable[[], str]) -> AbstractContextManager[str]:
    """Serve it until the context ends; gives `127.0.0.1:port`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page().encode()
            with suppress(ConnectionError):  # a scrape that waits no longer
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    return serving(Handler)
