"""Two engines behind one request sidecar, as pools."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.proxy.proxy_rig import LIMITS, PATIENCE_S, read_request
from exporters.raw_server import Script, Visit
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load

TOKEN = "a-token-of-this-test"  # noqa: S105 - of the tests' own sidecar


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: Any


def chat_answer(name: str, status: int = 200, tokens: int = 4) -> Script:
    """An engine that answers every request with its own name."""
    choice = {"index": 0, "message": {"content": name}, "finish_reason": "stop"}
    content = {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": tokens}}
    body = json.dumps(content if status == 200 else {"error": {"message": name}}).encode()
    head = f"HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"

    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(head.encode() + body)

    return script


@contextmanager
def pools(upstream: str, token_file: Path | None = None, **flags: str | bool) -> Iterator[RequestSidecar]:
    """Run a sidecar with pools for one test."""
    given: dict[str, str | bool] = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "drain": "1ms", **flags}
    if token_file is not None:
        token_file.write_text(TOKEN + "\n")
        given["admin_token_file"] = str(token_file)
    with RequestSidecar(load({"upstream": upstream, **given}, {}), LIMITS) as running:
        yield running


def admin(
    running: RequestSidecar, method: str = "GET", body: object = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """Ask the admin port for the pools."""
    connection = http.client.HTTPConnection("127.0.0.1", running.admin_port, timeout=PATIENCE_S)
    try:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, "/pools", data, dict(headers or {}))
        response = connection.getresponse()
        text = response.read()
        found = {name.lower(): value for name, value in response.getheaders()}
    finally:
        connection.close()
    parsed = json.loads(text) if found["content-type"] == "application/json" else text.decode()
    return Reply(response.status, found, parsed)


def set_weights(running: RequestSidecar, weights: Mapping[str, float], **fields: str) -> Reply:
    """Set weights as somebody who has the token and has looked."""
    headers = {"Authorization": f"Bearer {TOKEN}", "If-Match": admin(running).headers["etag"]}
    return admin(running, "PUT", {"weights": weights, **fields}, headers)


def shares(running: RequestSidecar) -> dict[str, float]:
    """Shares of new requests by pool."""
    return {pool["name"]: pool["share"] for pool in admin(running).body["pools"]}
