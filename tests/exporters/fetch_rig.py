"""Servers that answer a fetch well, badly, slowly or not at all, and what the fetch says."""

from __future__ import annotations

import gzip
import socket
import time

import pytest

from exporters.raw_server import Script, Visit, raw_server
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import FetchError

PAGE = b'# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m"} 1.0\n'
ZIPPED = gzip.compress(PAGE, mtime=0)
GZIP = "Content-Encoding: gzip"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMIT = 16 * 2**20


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def say(*parts: bytes) -> Script:
    """A script that reads the request, sends exactly these bytes, and closes."""

    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(*parts)

    return script


def failure(url: str, timeout_s: float = 10.0, **options: object) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(url, timeout_s=timeout_s, **options)  # type: ignore[arg-type]
    return caught.value


def failure_of(script: Script, timeout_s: float = 10.0) -> FetchError:
    with raw_server(script) as server:
        return failure(server.url, timeout_s)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


# What works.


def hang_at_once(visit: Visit) -> None:
    visit.hang()


def hang_after_head(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", PAGE)
    visit.hang()


def hang_without_length(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\n\r\n", PAGE)
    visit.hang()


def drip_head(visit: Visit) -> None:
    visit.read_head()
    visit.drip(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000)


def drip_body(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    visit.drip(b"#" * 100_000)


def drip_chunks(visit: Visit) -> None:
    visit.read_head()
    visit.send(CHUNKED)
    visit.drip(chunk(b"#") * 100_000)


def continue_for_ever(visit: Visit) -> None:
    visit.read_head()
    while True:
        visit.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.001)


def flood(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\n\r\n", *(b"#" * 2**20 for _ in range(64)))


def flood_chunks(visit: Visit) -> None:
    visit.read_head()
    visit.send(CHUNKED, *(chunk(b"#" * 2**20) for _ in range(64)))


def flood_head(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\n", *(b"X: " + b"y" * 60_000 + b"\r\n" for _ in range(1000)))


def close_at_once(visit: Visit) -> None:
    visit.read_head()


def reset_at_once(visit: Visit) -> None:
    visit.read_head()
    visit.reset()
