from __future__ import annotations

import gc
import gzip
import os
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, make_wsgi_app

from exporters.raw_server import RawServer, Script, Visit, answer, raw_server
from specwatch_exporters.sidecar.body_decoder import GzipBody
from specwatch_exporters.sidecar.deadline import Deadline
from specwatch_exporters.sidecar.endpoint import Endpoint, redact
from specwatch_exporters.sidecar.fetch import HEADERS, Limits, fetch
from specwatch_exporters.sidecar.fetch_error import REMEDIES, Cause, FetchError
from specwatch_exporters.sidecar.resolve import Address, Resolver
from specwatch_exporters.sidecar.tls_trust import TlsTrust

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


# What does not work: every cause.


def test_refused_names_the_address() -> None:
    port = free_port()
    error = failure(f"http://127.0.0.1:{port}/metrics")
    assert error.cause is Cause.REFUSED
    assert error.message == f"http://127.0.0.1:{port}/metrics: no connection: Connection refused"


def test_a_name_that_does_not_resolve() -> None:
    def lookup(_host: str, _port: int) -> list[Address]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    error = failure("http://nowhere.example.com/metrics", resolver=Resolver(lookup))
    assert error.cause is Cause.DNS
    assert "nowhere.example.com does not resolve: Name or service not known" in error.message


def test_a_name_that_is_none() -> None:
    error = failure(f"http://{'a' * 64}.example.com/metrics")
    assert error.cause is Cause.DNS


def test_a_dead_name_server_costs_one_thread_however_often_one_asks() -> None:
    release = threading.Event()
    asked: list[str] = []

    def lookup(host: str, port: int) -> list[Address]:
        asked.append(host)
        release.wait(30)
        return [(socket.AF_INET, ("127.0.0.1", port))]

    resolver = Resolver(lookup)
    try:
        errors = [failure("http://slow.example.com:9/x", 0.02, resolver=resolver) for _ in range(5)]
    finally:
        release.set()
    assert {error.cause for error in errors} == {Cause.TIMEOUT}
    assert asked == ["slow.example.com"]
    wait_for_threads("specwatch-dns")


def test_a_lookup_that_was_joined_serves_the_one_who_joined() -> None:
    release = threading.Event()

    def lookup(_host: str, port: int) -> list[Address]:
        release.wait(30)
        return [(socket.AF_INET, ("127.0.0.1", port))]

    resolver = Resolver(lookup)
    failure("http://slow.example.com:80/x", 0.02, resolver=resolver)
    release.set()
    assert resolver.resolve("slow.example.com", 80, Deadline(30)) == [(socket.AF_INET, ("127.0.0.1", 80))]


def test_the_next_address_is_tried_when_the_first_refuses() -> None:
    with raw_server(answer(PAGE)) as server:

        def lookup(_host: str, port: int) -> list[Address]:
            return [(socket.AF_INET6, ("::1", port, 0, 0)), (socket.AF_INET, ("127.0.0.1", port))]

        url = server.url.replace("127.0.0.1", "two.example.com")
        assert fetch(url, timeout_s=10, resolver=Resolver(lookup)).body == PAGE


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


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (hang_at_once, "connected, and no answer came"),
        (hang_after_head, "the answer stopped after"),
        (hang_without_length, "the answer stopped after"),
        (drip_head, "the head of the answer stopped after"),
        (drip_body, "the answer stopped after"),
        (drip_chunks, "the answer stopped after"),
        (continue_for_ever, "the head of the answer stopped after"),
    ],
)
def test_one_deadline_holds_for_everything(script: Script, said: str) -> None:
    error = failure_of(script, timeout_s=0.8)
    assert error.cause is Cause.TIMEOUT
    assert said in error.message
    assert error.message.endswith("(limit 0.8 s)")


def test_a_connection_that_is_never_accepted_times_out() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        try:
            for sock in waiting:
                sock.setblocking(False)  # noqa: FBT003
                sock.connect_ex(("127.0.0.1", port))
            error = failure(f"http://127.0.0.1:{port}/metrics", 0.3)
        finally:
            for sock in waiting:
                sock.close()
    assert error.cause is Cause.TIMEOUT


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


def flood(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\n\r\n", *(b"#" * 2**20 for _ in range(64)))


def flood_chunks(visit: Visit) -> None:
    visit.read_head()
    visit.send(CHUNKED, *(chunk(b"#" * 2**20) for _ in range(64)))


def flood_head(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\n", *(b"X: " + b"y" * 60_000 + b"\r\n" for _ in range(1000)))


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


def close_at_once(visit: Visit) -> None:
    visit.read_head()


def reset_at_once(visit: Visit) -> None:
    visit.read_head()
    visit.reset()


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


# TLS.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One PEM file with a key and its self-signed certificate for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    pem = folder / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=specwatch-test", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run([*command, "-keyout", pem, "-out", folder / "ca.pem"], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.fail("the openssl program is missing: apt-get install openssl")
    pem.write_bytes(pem.read_bytes() + (folder / "ca.pem").read_bytes())
    return pem


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[RawServer]:
    import ssl  # noqa: PLC0415

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def script(visit: Visit) -> None:
        with context.wrap_socket(visit.sock, server_side=True) as secured:
            answer(PAGE)(Visit(secured, threading.Event()))

    with raw_server(script) as server:
        server.scheme = "https"
        yield server


def test_https_with_the_right_authority(tls_server: RawServer, certificate: Path) -> None:
    trust = TlsTrust(certificate.with_name("ca.pem"))
    for _ in range(2):
        assert fetch(tls_server.url, timeout_s=10, tls=trust).body == PAGE


def test_https_with_an_unknown_authority(tls_server: RawServer) -> None:
    error = failure(tls_server.url)
    assert error.cause is Cause.TLS
    assert "not trusted: self-signed certificate" in error.message


def test_https_without_checking(tls_server: RawServer) -> None:
    assert fetch(tls_server.url, timeout_s=10, tls=TlsTrust(insecure=True)).body == PAGE


def test_a_ca_file_that_is_replaced_is_read_again(tls_server: RawServer, certificate: Path, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    trust = TlsTrust(ca)
    assert "No such file" in failure(tls_server.url, tls=trust).message
    ca.write_text("nothing")
    assert "holds no certificate" in failure(tls_server.url, tls=trust).message
    ca.write_bytes(certificate.with_name("ca.pem").read_bytes())
    assert fetch(tls_server.url, timeout_s=10, tls=trust).body == PAGE


def test_http_where_https_was_expected() -> None:
    def script(visit: Visit) -> None:
        visit.sock.recv(65536)
        visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with raw_server(script) as server:
        server.scheme = "https"
        error = failure(server.url)
    assert error.cause is Cause.TLS
    assert "try http" in error.message


def test_a_handshake_that_hangs_times_out() -> None:
    with raw_server(hang_at_once) as server:
        server.scheme = "https"
        error = failure(server.url, 0.3)
    assert error.cause is Cause.TIMEOUT
    assert "handshake" in error.message


# Nothing stays behind.


def wait_for_threads(prefix: str) -> None:
    for thread in threading.enumerate():
        if thread.name.startswith(prefix):
            thread.join(10)
            assert not thread.is_alive()


def open_sockets() -> set[str]:
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return {str(link.readlink()) for link in links if link.is_symlink() and "socket:" in str(link.readlink())}


@pytest.mark.parametrize(
    "script",
    [answer(PAGE), flood, hang_after_head, reset_at_once, answer(b"", status="500 No"), answer(PAGE, GZIP)],
)
def test_no_thread_and_no_socket_stays_behind(script: Script) -> None:
    gc.disable()  # what is left must not depend on the collector
    try:
        threads, sockets = set(threading.enumerate()), open_sockets()
        with raw_server(script) as server:
            for _ in range(5):
                with suppress(FetchError):
                    fetch(server.url, timeout_s=0.2)
        assert set(threading.enumerate()) - threads == set()
        assert open_sockets() - sockets == set()
    finally:
        gc.enable()


def test_every_cause_has_a_remedy() -> None:
    assert set(Cause) <= set(REMEDIES)
