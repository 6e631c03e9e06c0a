"""A page that arrives whole, and addresses."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, make_wsgi_app

from exporters.fetch_rig import (
    CHUNKED,
    GZIP,
    PAGE,
    ZIPPED,
    chunk,
    failure,
    say,
)
from exporters.raw_server import Script, answer, raw_server
from specwatch_exporters.sidecar.endpoint import Endpoint, redact
from specwatch_exporters.sidecar.fetch import HEADERS, Limits, fetch
from specwatch_exporters.sidecar.fetch_error import Cause


@pytest.mark.parametrize(
    "script",
    [
        answer(PAGE, "Content-Type: text/plain; version=0.0.4"),
        answer(ZIPPED, "Content-Type: text/plain; version=0.0.4", GZIP),
        answer(gzip.compress(PAGE[:9]) + gzip.compress(PAGE[9:]), "Content-Type: text/plain; version=0.0.4", GZIP),
        answer(ZIPPED + b"\0" * 512, "Content-Type: text/plain; version=0.0.4", GZIP),
        answer(PAGE, "Content-Type: text/plain; version=0.0.4", "Content-Encoding: identity"),
        say(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n", PAGE),
        say(CHUNKED[:-2], b"Content-Type: text/plain; version=0.0.4\r\n\r\n", chunk(PAGE), b"0\r\n\r\n"),
        say(
            CHUNKED[:-2],
            b"Content-Type: text/plain; version=0.0.4\r\n\r\n",
            *(chunk(bytes([byte])) for byte in PAGE),
            b"0\r\nX-Trailer: 1\r\n\r\n",
        ),
        say(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n", PAGE),
    ],
    ids=["length", "gzip", "gzip-members", "gzip-padded", "identity", "http-1.0", "chunked", "tiny-chunks", "1xx"],
)
def test_a_whole_page_arrives(script: Script) -> None:
    with raw_server(script) as server:
        fetched = fetch(server.url, timeout_s=10)
    assert (fetched.status, fetched.body) == (200, PAGE)
    assert fetched.content_type == "text/plain; version=0.0.4"
    assert fetched.elapsed_s >= 0


def test_a_page_of_exactly_the_limit_is_not_too_large() -> None:
    body = b"#" * 1000
    with raw_server(answer(body)) as server:
        assert fetch(server.url, timeout_s=10, limits=Limits(1000, 1000)).body == body
    with raw_server(answer(gzip.compress(body), GZIP)) as server:
        assert fetch(server.url, timeout_s=10, limits=Limits(1000, 1000)).body == body


def test_the_request_asks_for_text_and_gzip_on_a_connection_of_its_own() -> None:
    with raw_server(answer(PAGE)) as server:
        fetch(f"{server.url}?scope=a b".replace(" ", "%20"), timeout_s=10)
        head = server.requests[0].decode()
    assert head.startswith("GET /metrics?scope=a%20b HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}\r\n" in head
    for name, value in HEADERS.items():
        assert f"{name}: {value}\r\n" in head


def test_ipv6() -> None:
    with raw_server(answer(PAGE), host="::1") as server:
        assert fetch(server.url, timeout_s=10).body == PAGE
        assert f"Host: [::1]:{server.port}\r\n".encode() in server.requests[0]


def test_a_python_engine_answers_text_and_not_openmetrics() -> None:
    registry = CollectorRegistry()
    Counter("x", "A counter.", registry=registry).inc()

    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with make_server("127.0.0.1", 0, make_wsgi_app(registry), handler_class=Quiet) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        fetched = fetch(f"http://127.0.0.1:{server.server_port}/metrics", timeout_s=10)
        thread.join()
    assert fetched.content_type.startswith("text/plain")
    assert b"# EOF" not in fetched.body


# Credentials.


def test_a_password_in_the_url_is_sent_and_never_shown() -> None:
    with raw_server(answer(b"", status="401 Unauthorized")) as server:
        error = failure(server.url.replace("//", "//user:p%40ss@"))
        assert b"Authorization: Basic dXNlcjpwQHNz\r\n" in server.requests[0]
    assert error.cause is Cause.STATUS
    assert error.status == 401
    assert error.message == f"{server.url}: answered 401 Unauthorized: it wants a token"


def test_the_token_is_read_at_every_fetch(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with raw_server(answer(PAGE)) as server:
        for word in ("one", "two"):
            token.write_text(f"{word}\n")
            fetch(server.url, timeout_s=10, token_file=token)
        sent = b"".join(server.requests)
    assert b"Authorization: Bearer one\r\n" in sent
    assert b"Authorization: Bearer two\r\n" in sent


@pytest.mark.parametrize("content", [None, b"", b"\n", b"two\nlines", b"a b", b"\xff\xfe", b"s3cret\x07"])
def test_a_token_that_cannot_be_sent_is_named_and_not_shown(content: bytes | None, tmp_path: Path) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content)
    error = failure("http://127.0.0.1:9/metrics", token_file=token)
    assert error.cause is Cause.SETTINGS
    assert str(token) in error.message
    assert "s3cret" not in error.message


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://user:s3cret@example.com:99999/", "port"),
        ("http://user:s3cret@[::1/", "IPv6"),
        ("http://user:s3cret@/metrics", "host"),
        ("ftp://user:s3cret@example.com/", "scheme"),
        ("http://user:s3cret@example.com:0/", "port 0"),
        ("http://example.com/a\r\nX: y", "control"),
        ("http://example.com/#top", "fragment"),
        ("example.com", "scheme"),
    ],
)
def test_an_address_that_is_none(url: str, said: str) -> None:
    error = failure(url)
    assert error.cause is Cause.SETTINGS
    assert said in error.message
    assert "s3cret" not in error.message
    assert "s3cret" not in redact(url)


@given(st.text(max_size=60))
def test_whatever_is_an_endpoint_can_be_asked(text: str) -> None:
    try:
        endpoint = Endpoint.parse(f"http://{text}")
    except ValueError:
        return
    assert endpoint.target.isascii()
    assert endpoint.target.isprintable()
    assert " " not in endpoint.target
    assert 0 < endpoint.port < 65536
