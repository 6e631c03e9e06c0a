"""A Kubernetes API with ConfigMaps and nothing else, as strict about versions as the real one."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kubernetes import client

MAX_BYTES = 1_048_576


class ConfigMaps:
    """The maps, by namespace and name.

    Attributes:
        maps: what is kept.
        refuse: status and message for every request, or None.
        before_write: called before each write is judged, as somebody else who writes in between.
        writes: how many were accepted.
    """

    def __init__(self) -> None:
        self.maps: dict[tuple[str, str], dict[str, Any]] = {}
        self.refuse: tuple[int, str] | None = None
        self.before_write: Callable[[], None] = lambda: None
        self.writes = 0
        self._version = 100

    def get(self, key: tuple[str, str]) -> tuple[int, Any]:
        return (200, self.maps[key]) if key in self.maps else _failure(404, f'configmaps "{key[1]}" not found')

    def create(self, namespace: str, body: dict[str, Any]) -> tuple[int, Any]:
        key = (namespace, body["metadata"]["name"])
        if key in self.maps:
            return _failure(409, f'configmaps "{key[1]}" already exists')
        return self._store(key, body, 201)

    def replace(self, key: tuple[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        if key not in self.maps:
            return _failure(404, f'configmaps "{key[1]}" not found')
        version = body["metadata"].get("resourceVersion")
        if version is not None and version != self.maps[key]["metadata"]["resourceVersion"]:
            return _failure(409, "the object has been modified; please apply your changes to the latest version")
        return self._store(key, body, 200)

    def touch(self, key: tuple[str, str]) -> None:
        """Change a label, as somebody with kubectl would."""
        self._version += 1
        self.maps[key]["metadata"] |= {
            "resourceVersion": str(self._version),
            "labels": {"touched": str(self._version)},
        }

    def _store(self, key: tuple[str, str], body: dict[str, Any], status: int) -> tuple[int, Any]:
        size = sum(len(text) for text in (body.get("data") or {}).values())
        size += sum(len(base64.b64decode(text)) for text in (body.get("binaryData") or {}).values())
        if size > MAX_BYTES:
            return _failure(422, f"ConfigMap is invalid: []: Too long: may not be more than {MAX_BYTES} bytes")
        self._version += 1
        self.writes += 1
        metadata = {**body["metadata"], "namespace": key[0], "name": key[1], "resourceVersion": str(self._version)}
        self.maps[key] = {**body, "kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
        return status, self.maps[key]


def _failure(code: int, message: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}


@contextmanager
def config_map_server() -> Iterator[tuple[ConfigMaps, client.CoreV1Api]]:
    """Run the API; gives what it keeps, and a client of it."""
    kept = ConfigMaps()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(lambda key, _: kept.get(key))

        def do_POST(self) -> None:
            self._answer(lambda key, body: kept.create(key[0], body))

        def do_PUT(self) -> None:
            self._answer(kept.replace)

        def _answer(self, act: Callable[[tuple[str, str], dict[str, Any]], tuple[int, Any]]) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else {}
            _, _, _, _, namespace, _, *name = self.path.partition("?")[0].split("/")
            with lock:
                if self.command != "GET":
                    kept.before_write()
                status, found = (
                    act((namespace, "/".join(name)), body) if kept.refuse is None else _failure(*kept.refuse)
                )
            text = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    configuration = client.Configuration()
    configuration.host = f"http://127.0.0.1:{server.server_port}"
    configuration.retries = False
    api = client.ApiClient(configuration)
    try:
        yield kept, client.CoreV1Api(api)
    finally:
        api.rest_client.pool_manager.clear()
        server.shutdown()
        thread.join()
        server.server_close()
