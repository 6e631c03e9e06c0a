"""Answers that are no page: status, redirects, size, damage, other protocols."""

from __future__ import annotations

import gzip
import time
import zlib

import pytest

from exporters.fetch_rig import (
    CHUNKED,
    GZIP,
    LIMIT,
    PAGE,
    ZIPPED,
    chunk,
    close_at_once,
    failure,
    failure_of,
    flood,
    flood_chunks,
    flood_head,
    reset_at_once,
    say,
)
from exporters.raw_server import Script, Visit, answer, raw_server
from specwatch_exporters.sidecar.body_decoder import GzipBody
from specwatch_exporters.sidecar.fetch import Limits
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("500 Internal Server Error", "answered 500 Internal Server Error"),
        ("503 Service Unavailable", "answered 503 Service Unavailable: it is up and not ready"),
        ("404 Not Found", "answered 404 Not Found: there is no metrics page at this path"),
        ("403 Forbidden", "answered 403 Forbidden: the token is not accepted"),
        ("206 Partial Content", "answered 206 Partial Content"),
        ("304 Not Modified", "answered 304 Not Modified"),
        ("302 Found", "answered 302 Found"),
        ("500 B\xe9d\x1b[31m", "answered 500 B?d?[31m"),
        ("500", "answered 500"),
    ],
)
def test_any_status_but_200(status: str, said: str) -> None:
    error = failure_of(answer(b"<html>whatever", "Content-Type: text/html", status=status))
    assert error.cause is Cause.STATUS
    assert said in error.message
    assert error.status == int(status[:3])


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("https://login.example.com/sign-in?next=secret", "redirects (307) to https://login.example.com/sign-in,"),
        ("http://user:s3cret@login.example.com:8080/", "redirects (307) to http://login.example.com:8080/,"),
        ("//other.example.com/metrics", "redirects (307) to http://other.example.com/metrics,"),
        ("/metrics/", "/metrics/, which is not followed"),
        ("http://[::1]:1/", "http://[::1]:1/,"),
        ("http://h:99999/", "an address that is malformed"),
        ("http://\xff\x1b/", "http://?"),
    ],
)
def test_a_redirect_is_named_and_not_followed(location: str, said: str) -> None:
    error = failure_of(answer(b"", f"Location: {location}", status="307 Temporary Redirect"))
    assert error.cause is Cause.REDIRECT
    assert said in error.message
    assert "secret" not in error.message
    assert error.message.isascii()
    assert error.message.isprintable()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<!DOCTYPE html><title>Sign in</title>", "text/plain"),
        (b"\xef\xbb\xbf \r\n <HTML lang=en>", "text/plain"),
        (PAGE, "text/html; charset=utf-8"),
    ],
)
def test_a_web_page_is_not_metrics(body: bytes, content_type: str) -> None:
    error = failure_of(answer(body, f"Content-Type: {content_type}"))
    assert error.cause is Cause.HTML


@pytest.mark.parametrize(
    "script",
    [
        answer(b""),
        answer(b" \n\n"),
        answer(b"", status="204 No Content"),
        answer(gzip.compress(b""), GZIP),
        answer(b"", GZIP),
        say(CHUNKED, b"0\r\n\r\n"),
    ],
)
def test_nothing_is_not_a_page(script: Script) -> None:
    assert failure_of(script).cause is Cause.EMPTY


@pytest.mark.parametrize("script", [flood, flood_chunks, answer(b"", length=LIMIT + 1), answer(b"", length=10**30)])
def test_a_body_over_the_limit(script: Script) -> None:
    error = failure_of(script)
    assert error.cause is Cause.TOO_LARGE
    assert "larger than 16 MiB" in error.message


def test_a_head_without_end() -> None:
    with raw_server(flood_head) as server:
        error = failure(server.url, limits=Limits(100_000, 100_000))
    assert error.cause is Cause.TOO_LARGE


def bomb(size: int) -> bytes:
    """Zeros by the GiB in a few MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(2**20)
    return b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()


def test_a_gzip_bomb_stops_at_the_limit() -> None:
    with raw_server(answer(bomb(256 * 2**20), GZIP)) as server:
        error = failure(server.url)
    assert error.cause is Cause.TOO_LARGE


def test_a_gzip_bomb_is_not_decompressed_past_the_limit() -> None:
    body = GzipBody(LIMIT)
    with pytest.raises(FetchError, match="larger than 16 MiB"):
        body.feed(bomb(256 * 2**20))
    assert body.produced == LIMIT + 1


def test_ever_more_empty_gzip_members_are_damage() -> None:
    assert failure_of(answer(gzip.compress(b"") * 1000, GZIP)).cause is Cause.BAD_GZIP


@pytest.mark.parametrize(
    "script",
    [
        answer(PAGE, length=len(PAGE) + 10),
        answer(ZIPPED[:-9], GZIP),
        answer(ZIPPED[:5], GZIP),
        say(CHUNKED, chunk(PAGE)),
        say(CHUNKED, b"fff\r\n", PAGE),
        say(CHUNKED, chunk(PAGE), b"zz\r\n"),
    ],
)
def test_half_a_page_is_not_a_page(script: Script) -> None:
    assert failure_of(script).cause is Cause.TRUNCATED


def test_a_reset_in_the_body_is_truncation() -> None:
    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", PAGE)
        time.sleep(0.05)
        visit.reset()

    assert failure_of(script).cause is Cause.TRUNCATED


@pytest.mark.parametrize(
    "body",
    [PAGE, ZIPPED[:-8] + b"\0" * 8, ZIPPED[:10] + b"\xff" * 90, ZIPPED + b"garbage behind"],
    ids=["plain", "checksum", "stream", "tail"],
)
def test_gzip_that_is_damaged(body: bytes) -> None:
    assert failure_of(answer(body, GZIP)).cause is Cause.BAD_GZIP


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (close_at_once, "closed the connection without an answer"),
        (reset_at_once, "broke the connection off"),
        (say(b"SSH-2.0-OpenSSH_9.2\n"), "does not speak HTTP (it began with SSH-2.0-OpenSSH_9.2)"),
        (say(b"\x15\x03\x03\x00\x02\x02\x16"), "speaks TLS; write https"),
        (say(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 200, b"\r\n"), "malformed head"),
        (say(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 70_000, b"\r\n\r\n"), "malformed head"),
        (answer(PAGE, "Content-Encoding: br"), "sent the body as br, which was not asked for"),
        (say(CHUNKED, b"-5\r\n"), "malformed"),
    ],
)
def test_what_is_not_http(script: Script, said: str) -> None:
    error = failure_of(script)
    assert error.cause is Cause.PROTOCOL
    assert said in error.message
