"""A sidecar server whose state can be changed while it runs."""

from __future__ import annotations

import gzip
import http.client
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Gauge

from exporters.status_samples import SAMPLES
from specwatch_exporters.sidecar.server import serve
from specwatch_exporters.sidecar.setting_values import Listen
from specwatch_exporters.sidecar.status import Status

LOOPBACK = Listen("127.0.0.1", 0)
PROMETHEUS_ACCEPT = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;"
    "q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


class Reply:
    """A whole answer, read to the end of the connection."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self) -> str:
        body = gzip.decompress(self.body) if self.headers["Content-Encoding"] == "gzip" else self.body
        return body.decode()


class Sidecar:
    """A server with what it shows, changeable while it runs."""

    def __init__(self, listen: Listen = LOOPBACK) -> None:
        self.registry = CollectorRegistry()
        self.status: Status = SAMPLES["active"]
        self.state = (True, "")
        Gauge("specwatch_scrape_success", "A gauge.", registry=self.registry).set(1)
        for index in range(40):
            Gauge(f"x_{index}", "A gauge that makes the page longer.", registry=self.registry)
        self.server = serve(listen, self.registry, lambda: self.status, lambda: self.state)

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Reply:
        """One request; underscores in header names are hyphens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        try:
            sent: Mapping[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, sent)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def raw(self, *parts: bytes) -> bytes:
        """Send bytes, return all that comes back."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as sock:
            try:
                for part in parts:
                    sock.sendall(part)
                return b"".join(iter(lambda: sock.recv(65536), b""))
            except ConnectionError:
                return b""


@contextmanager
def running(listen: Listen = LOOPBACK) -> Iterator[Sidecar]:
    sidecar = Sidecar(listen)
    with sidecar.server:
        yield sidecar
