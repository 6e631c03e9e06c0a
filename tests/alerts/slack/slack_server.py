"""Slack's Web API as its documentation describes it: token, scopes, channels, threads, metadata, limits."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from alerts.slack.slack_blocks_check import refusal

TOKEN = "xoxb-1-the-token-of-the-tests"  # noqa: S105 - of a server on loopback
CHANNEL = "C0ALERTS"
SCOPES = frozenset({"chat:write", "channels:history", "files:write"})
_NEEDS = {
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "chat.postEphemeral": "chat:write",
    "conversations.history": "channels:history",
    "conversations.replies": "channels:history",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}


@dataclass
class Message:
    """A message as Slack keeps it."""

    ts: str
    channel: str
    body: dict[str, Any]
    thread: str = ""
    broadcast: bool = False
    edits: int = 0

    @property
    def text(self) -> str:
        return str(self.body.get("text", ""))

    @property
    def title(self) -> str:
        return str(self.body["blocks"][0]["text"]["text"])


@dataclass
class Fault:
    """What happens to a call.

    Attributes:
        status: answered instead of 200.
        error: answered as `ok: false`.
        headers: of the answer.
        loses: the call is carried out, and its answer never arrives.
        method: of the call that it waits for, or empty for any.
    """

    status: int = 200
    error: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    loses: bool = False
    method: str = ""


class SlackServer:
    """The server's state; its lock makes it one workspace for many callers."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.url = ""
        self.token = TOKEN
        self.scopes = set(SCOPES)
        self.channels = {CHANNEL: "member"}
        self.messages: list[Message] = []
        self.ephemeral: list[tuple[str, str]] = []
        self.uploads: list[tuple[str, bytes]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refusals = 0
        self.faults: list[Fault] = []
        self.down = False
        self.now: Callable[[], float] = lambda: 1_700_000_000.0
        self.pace_s = 0.0
        self.page = 100
        self.after_post: Callable[[], None] = lambda: None
        self._last_post = float("-inf")
        self._count = 0

    def roots(self) -> list[Message]:
        """Messages that stand in the channel by themselves."""
        return [message for message in self.messages if not message.thread]

    def replies(self, ts: str) -> list[Message]:
        """Messages of a thread."""
        return [message for message in self.messages if message.thread == ts]

    def methods(self) -> list[str]:
        """Names of the methods called."""
        return [method for method, _ in self.calls]

    def delete(self, ts: str) -> None:
        """Somebody deletes a message."""
        self.messages = [message for message in self.messages if message.ts != ts]

    def answer(self, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes] | None:
        """Status, headers and body; None if no answer ever comes."""
        with self.lock:
            if path.startswith("/upload/"):
                self.uploads.append((path, body))
                return 200, {}, b"OK"
            method = path.removeprefix("/api/")
            arguments = _arguments(headers, body)
            self.calls.append((method, arguments))
            if self.down:
                return 503, {}, b"<html>down</html>"
            fault = self._fault(method)
            if fault is not None and not fault.loses:
                self.refusals += 1
                told = {"ok": False, "error": fault.error} if fault.error else {}
                return fault.status, fault.headers, json.dumps(told).encode()
            status, more, found = self._carry_out(method, headers, arguments)
            answer = None if fault is not None else (status, more, json.dumps(found).encode())
        if method == "chat.postMessage":
            self.after_post()
        return answer

    def _fault(self, method: str) -> Fault | None:
        for fault in self.faults:
            if fault.method in {"", method}:
                self.faults.remove(fault)
                return fault
        return None

    def _carry_out(
        self, method: str, headers: Any, arguments: dict[str, Any]
    ) -> tuple[int, dict[str, str], dict[str, Any]]:
        if headers.get("Authorization") != f"Bearer {self.token}":
            return 200, {}, {"ok": False, "error": "invalid_auth"}
        if _NEEDS[method] not in self.scopes:
            return 200, {}, {"ok": False, "error": "missing_scope", "needed": _NEEDS[method], "provided": ""}
        if method == "chat.postMessage" and self.now() - self._last_post < self.pace_s:
            self.refusals += 1
            return 429, {"Retry-After": "3"}, {"ok": False, "error": "ratelimited"}
        channel = str(arguments.get("channel") or arguments.get("channel_id") or CHANNEL)
        state = self.channels.get(channel, "channel_not_found")
        if state != "member":
            return 200, {}, {"ok": False, "error": state}
        found = getattr(self, f"_{method.replace('.', '_')}")(channel, arguments)
        return 200, {}, {"ok": "error" not in found, **found}

    def _chat_postMessage(self, channel: str, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's name
        error = refusal(body)
        thread = str(body.get("thread_ts") or "")
        if not error and thread and not any(message.ts == thread for message in self.messages):
            error = "thread_not_found"
        if error:
            self.refusals += 1
            return {"error": error}
        self._count += 1
        self._last_post = self.now()
        ts = f"{self.now():.0f}.{self._count:06d}"
        self.messages.append(Message(ts, channel, body, thread, bool(body.get("reply_broadcast"))))
        return {"channel": channel, "ts": ts, "message": body}

    def _chat_update(self, channel: str, body: dict[str, Any]) -> dict[str, Any]:
        error = refusal(body)
        found = [one for one in self.messages if one.ts == body.get("ts") and one.channel == channel]
        if error or not found:
            self.refusals += 1
            return {"error": error or "message_not_found"}
        found[0].body = body
        found[0].edits += 1
        return {"channel": channel, "ts": found[0].ts}

    def _chat_postEphemeral(self, _channel: str, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - likewise
        self.ephemeral.append((str(body["user"]), str(body["text"])))
        return {"message_ts": "1.1"}

    def _conversations_history(self, channel: str, arguments: dict[str, Any]) -> dict[str, Any]:
        shown = [one for one in self.messages if one.channel == channel and (not one.thread or one.broadcast)]
        return self._listed(list(reversed(shown)), arguments)

    def _conversations_replies(self, _channel: str, arguments: dict[str, Any]) -> dict[str, Any]:
        root = arguments["ts"]
        if not any(one.ts == root for one in self.messages):
            return {"error": "thread_not_found"}
        return self._listed([one for one in self.messages if root in {one.ts, one.thread}], arguments)

    def _listed(self, messages: list[Message], arguments: dict[str, Any]) -> dict[str, Any]:
        oldest = float(arguments.get("oldest", 0))
        recent = [one for one in messages if float(one.ts) > oldest]
        start = int(arguments.get("cursor") or 0)
        end = start + min(self.page, int(arguments.get("limit", 100)))
        whole = arguments.get("include_all_metadata") in {"1", "true"}
        rows = [
            {"ts": one.ts, "text": one.text, **({"metadata": one.body.get("metadata")} if whole else {})}
            for one in recent[start:end]
        ]
        cursor = str(end) if end < len(recent) else ""
        return {"messages": rows, "has_more": bool(cursor), "response_metadata": {"next_cursor": cursor}}

    def _files_getUploadURLExternal(self, _channel: str, _body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"upload_url": f"{self.url.removesuffix('/api/')}/upload/v1/F1", "file_id": "F1"}

    def _files_completeUploadExternal(self, channel: str, body: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        self.uploads.append((f"completed {channel} {body.get('thread_ts')}", b""))
        return {"files": [{"id": "F1"}]}


def _arguments(headers: Any, body: bytes) -> dict[str, Any]:
    if headers.get("Content-Type", "").startswith("application/json"):
        return dict(json.loads(body))
    return {name: values[0] for name, values in parse_qs(body.decode()).items()}


@contextmanager
def serving() -> Iterator[SlackServer]:
    """Run a workspace for one test."""
    slack = SlackServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found = slack.answer(self.path, self.headers, body)
            if found is None:
                self.close_connection = True
                return
            status, headers, answer = found
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 64
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that was killed is part of a test."""

    server = Server(("127.0.0.1", 0), Handler)
    slack.url = f"http://127.0.0.1:{server.server_address[1]}/api/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield slack
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
