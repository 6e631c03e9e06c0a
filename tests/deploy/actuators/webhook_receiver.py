"""Somebody with a lever of their own: checks signatures, takes no request twice, moves, and tells where it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from specwatch_deploy.actuators.webhook_signature import IDEMPOTENCY_KEY, SIGNATURE, TIMESTAMP, verify

SECRET = b"a secret of at least sixteen bytes"


class Receiver:
    """What the other side does.

    Attributes:
        now: its clock, epoch seconds.
        shares: where its lever is.
        moves: bodies that it acted on.
        keys: idempotency keys of all requests that were signed rightly, repeated ones too.
        answers: status and headers of the next answers, before it does its work.
        told: what it says beside the shares.
    """

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.shares: dict[str, float] = {"draft": 1.0}
        self.moves: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.told: dict[str, Any] = {}
        self.signatures: list[str] = []
        self.loses_answers = 0
        self.url = ""

    def answer(self, method: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        signature = headers.get(SIGNATURE, "")
        if not verify(SECRET, headers.get(TIMESTAMP, ""), signature, body, self.now):
            return 401, {}, b'{"error": "the signature is wrong"}'
        self.signatures.append(signature)
        if self.answers:
            status, more = self.answers.pop(0)
            return status, more, b'{"error": "later"}'
        if method == "POST":
            self._move(headers.get(IDEMPOTENCY_KEY, ""), json.loads(body))
        movement = self.moves[-1]["movement"] if self.moves else ""
        return 200, {}, json.dumps({"shares": self.shares, "movement": movement, **self.told}).encode()

    def _move(self, key: str, body: dict[str, Any]) -> None:
        if key not in self.keys:
            assert key == body["movement"]
            self.moves.append(body)
            self.shares = body["shares"]
        self.keys.append(key)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver for one test."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, answer = receiver.answer(self.command, self.headers, body)
            if receiver.loses_answers and self.command == "POST":
                receiver.loses_answers -= 1
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = _serve  # noqa: N815 - the base class's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - likewise
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/lever"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
