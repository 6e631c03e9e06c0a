"""The part of Prometheus's HTTP API that the fleet watch asks, over a store of samples that a test fills."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from detectors.watch.sample_store import SampleStore

_SELECTOR = re.compile(r"(?P<metric>\w+)\{(?P<matchers>[^}]*)\}\[(?P<seconds>\d+)s\]")


@dataclass
class Api:
    """A running API.

    Attributes:
        url: its address.
        samples: what it knows.
        answer: status, type and body for every request instead of the samples, or None.
        seen: path, query and headers of each request.
    """

    url: str
    samples: SampleStore
    answer: tuple[int, str, bytes] | None = None
    seen: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def respond(self, path: str, headers: dict[str, str]) -> tuple[int, str, bytes]:
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.seen.append((parts.path, query, headers))
        if self.answer is not None:
            return self.answer
        found = _SELECTOR.fullmatch(query.get("query", ""))
        if parts.path != "/api/v1/query" or found is None:
            return 400, "application/json", b'{"status":"error","errorType":"bad_data","error":"no range selector"}'
        end = float(query["time"])
        rows = self.samples.matrix(found["metric"], end - float(found["seconds"]), end)
        body = {"status": "success", "data": {"resultType": "matrix", "result": rows}}
        return 200, "application/json", json.dumps(body).encode()


@contextmanager
def prometheus_api(samples: SampleStore, before: Callable[[], None] = lambda: None) -> Iterator[Api]:
    """Run an API until the block ends; `before` is called before each answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: Nagle would hold the body back for 40 ms

        def do_GET(self) -> None:
            before()
            status, kind, body = api.respond(self.path, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api = Api(f"http://127.0.0.1:{server.server_port}", samples)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
