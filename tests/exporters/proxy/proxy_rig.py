"""A request sidecar under test, a raw client, and a wait for what nothing announces."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from exporters.raw_server import RawServer, Script, Visit, raw_server
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load

PATIENCE_S = 20.0
LIMITS = ProxyLimits(linger_s=0.2)
CHAT = "/v1/chat/completions"


@contextmanager
def sidecar(upstream: str, limits: ProxyLimits = LIMITS, **flags: str | bool) -> Iterator[RequestSidecar]:
    """Run a sidecar in front of an address for one test."""
    given = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "drain": "1ms", **flags}
    with RequestSidecar(load({"upstream": upstream, **given}, {}), limits) as running:
        yield running


@contextmanager
def before(
    script: Script, limits: ProxyLimits = LIMITS, **flags: str | bool
) -> Iterator[tuple[RawServer, RequestSidecar]]:
    """Run a sidecar in front of a scripted engine for one test."""
    with raw_server(script) as engine, sidecar(f"127.0.0.1:{engine.port}", limits, **flags) as running:
        yield engine, running


def sample(running: RequestSidecar, name: str, **labels: str) -> float:
    """Sum of a metric's samples that carry these labels; 0 if there are none."""
    total = 0.0
    for family in running.registry.collect():
        for found in family.samples:
            if found.name == name and labels.items() <= found.labels.items():
                total += found.value
    return total


def values(running: RequestSidecar, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """Samples of a metric by their labels."""
    return {
        tuple(sorted(found.labels.items())): found.value
        for family in running.registry.collect()
        for found in family.samples
        if found.name == name
    }


def eventually(condition: Callable[[], Any], what: str = "") -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what or "it never came to hold"
        time.sleep(0.005)


@contextmanager
def connection(port: int) -> Iterator[socket.socket]:
    """A client's raw connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
        yield sock


def read_all(sock: socket.socket) -> bytes:
    """Receive until the peer closes."""
    parts = []
    while data := sock.recv(65536):
        parts.append(data)
    return b"".join(parts)


def read_until(sock: socket.socket, end: bytes) -> bytes:
    """Receive until the bytes end with `end`, or the peer closes."""
    got = b""
    while not got.endswith(end) and (data := sock.recv(65536)):
        got += data
    return got


def ask(port: int, request: bytes) -> bytes:
    """Send bytes, and receive until the peer closes."""
    with connection(port) as sock:
        sock.sendall(request)
        return read_all(sock)


def request(
    target: str = "/x", body: bytes = b"", method: str = "POST", headers: Mapping[str, str] | None = None
) -> bytes:
    """A request that asks for the connection to be closed."""
    fields = {"Host": "engine.example.com", "Connection": "close", **(headers or {})}
    if body:
        fields["Content-Length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {content}" for name, content in fields.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def body_of(response: bytes) -> bytes:
    """A response's body; a chunked one is put together."""
    head, _, rest = response.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        parts.append(rest[:length])
        rest = rest[length + 2 :]
    return b"".join(parts)


def read_request(visit: Visit) -> bytes:
    """Receive a whole request with a Content-Length, or in chunks, or without a body."""
    head, _, body = visit.read_head().partition(b"\r\n\r\n")
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        while not body.endswith(b"0\r\n\r\n") and (data := visit.sock.recv(65536)):
            body += data
        return body
    length = next((int(line[15:]) for line in lowered.split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length and (data := visit.sock.recv(65536)):
        body += data
    return body


def events(*data: str, crlf: bool = False) -> bytes:
    """Server-sent events."""
    end = "\r\n" if crlf else "\n"
    return "".join(f"data: {one}{end}{end}" for one in data).encode()


def sse_head(*headers: str) -> bytes:
    """Head of a chunked event stream."""
    lines = [
        "HTTP/1.1 200 OK",
        "Content-Type: text/event-stream; charset=utf-8",
        "Transfer-Encoding: chunked",
        *headers,
    ]
    return "\r\n".join((*lines, "", "")).encode()


def chunked(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)
