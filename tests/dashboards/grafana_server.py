"""A small server that speaks the part of Grafana's HTTP API that loading dashboards needs, strict about fields.

What it does is in Grafana's HTTP API reference (folders, dashboards, data sources) of version 11.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from alerts.loopback_site import serving

TOKEN: Final = "glsa_of-the-tests"  # noqa: S105 - of the tests' own server
_SENT: Final = {"dashboard", "folderUid", "overwrite", "message"}
_FOLDER: Final = {"title", "uid"}
Reply = tuple[int, Any]


class GrafanaServer:
    """The server.

    Attributes:
        url: where it is.
        folders: title by uid.
        dashboards: what was loaded, by uid: `{"dashboard", "meta"}`.
        datasources: by uid.
        asked: method and path of each request.
        answers: status and body that a path is answered with instead, by method and path.
        silent: paths that are never answered.
    """

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}
        self.dashboards: dict[str, dict[str, Any]] = {}
        self.datasources = {
            "prom-1": {"uid": "prom-1", "name": "Main Prometheus", "type": "prometheus"},
            "loki-1": {"uid": "loki-1", "name": "Logs", "type": "loki"},
        }
        self.asked: list[tuple[str, str]] = []
        self.answers: dict[tuple[str, str], Reply] = {}
        self.silent: set[str] = set()
        self.released = threading.Event()
        self.url = ""

    def answer(self, method: str, target: str, token: str, body: Any) -> Reply:
        """Status and body of one request."""
        parts = urlsplit(target)
        call = (method, parts.path)
        self.asked.append(call)
        if token != f"Bearer {TOKEN}":
            return 401, {"message": "Invalid API key"}
        if call in self.answers:
            return self.answers[call]
        match call:
            case "GET", "/api/folders":
                return self._listed(parse_qs(parts.query))
            case "POST", "/api/folders":
                return self._made(body)
            case "POST", "/api/dashboards/db":
                return self._loaded(body)
            case _:
                return self._found(parts.path)

    def _found(self, asked: str) -> Reply:
        for path, known in (("/api/dashboards/uid/", self.dashboards), ("/api/datasources/uid/", self.datasources)):
            if asked.startswith(path):
                found = dict(known).get(asked.removeprefix(path))
                return (200, found) if found is not None else (404, {"message": "Not found"})
        return 404, {"message": "Not found"}

    def _listed(self, query: Mapping[str, list[str]]) -> Reply:
        limit, page = int(query["limit"][0]), int(query["page"][0])
        rows = [{"id": at, "uid": uid, "title": title} for at, (uid, title) in enumerate(self.folders.items())]
        return 200, rows[limit * (page - 1) : limit * page]

    def _made(self, body: Any) -> Reply:
        if not isinstance(body, dict) or set(body) - _FOLDER or not body.get("title"):
            return 400, {"message": f"bad folder {body!r}"}
        if body["title"] in self.folders.values():
            return 409, {"message": "a folder with the same name already exists in the current location"}
        uid = f"folder-{len(self.folders)}"
        self.folders[uid] = body["title"]
        return 200, {"id": 1, "uid": uid, "title": body["title"], "version": 1}

    def _loaded(self, body: Any) -> Reply:
        fault = self._fault(body)
        if fault:
            return 400, {"message": fault}
        one, folder = body["dashboard"], body.get("folderUid", "")
        before = self.dashboards.get(one["uid"])
        if before is not None and before["meta"].get("provisioned"):
            return 400, {"message": "Cannot save provisioned dashboard"}
        version = 0 if before is None else before["dashboard"]["version"]
        if before is not None and not body["overwrite"] and one.get("version") != version:
            return 412, {
                "message": "The dashboard has been changed by someone else",
                "status": "version-mismatch",
            }
        self.dashboards[one["uid"]] = {
            "dashboard": {**one, "version": version + 1},
            "meta": {"folderUid": folder, "message": body["message"]},
        }
        return 200, {"id": 1, "uid": one["uid"], "status": "success", "version": version + 1, "slug": "x"}

    def _fault(self, body: Any) -> str:
        if not isinstance(body, dict) or set(body) - _SENT or not isinstance(body.get("overwrite"), bool):
            return f"bad fields {sorted(body)}"
        one = body.get("dashboard")
        if not isinstance(one, dict) or one.get("id", 0) is not None or not one.get("title"):
            return "bad dashboard"
        if not one.get("uid") or len(one["uid"]) > 40:
            return "bad uid"
        if body.get("folderUid", next(iter(self.folders), "")) not in {*self.folders, ""}:
            return "folder not found"
        return ""


@contextmanager
def grafana_serving() -> Iterator[GrafanaServer]:
    """Serve one until the context ends."""
    server = GrafanaServer()
    with serving(_handler(server)) as address:
        server.url = f"http://{address}"
        try:
            yield server
        finally:
            server.released.set()


def _handler(server: GrafanaServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            text = self.rfile.read(length)
            if urlsplit(self.path).path in server.silent:
                server.released.wait(30)
                return
            body = json.loads(text) if text and self.headers["Content-Type"] == "application/json" else None
            token = self.headers.get("Authorization", "")
            status, found = server.answer(self.command, self.path, token, body)
            sent = found.encode() if isinstance(found, str) else json.dumps(found).encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "http://elsewhere.example.com/")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    return Handler
