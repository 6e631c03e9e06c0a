from __future__ import annotations

import gzip
import threading

import pytest

from exporters.proxy.proxy_rig import (
    ask,
    before,
    body_of,
    chunked,
    connection,
    eventually,
    read_all,
    read_request,
    read_until,
    request,
    sample,
    sidecar,
    sse_head,
)
from exporters.raw_server import Script, Visit, answer, raw_server
from specwatch_exporters.proxy.proxy_limits import ProxyLimits

ODD = b"\x00\xff\r\n\r\n0\r\n\r\n data: \xc3"


def whole(response: bytes) -> Script:
    def script(visit: Visit) -> None:
        read_request(visit)
        visit.send(response)

    return script


RESPONSES = {
    "length": b"HTTP/1.1 200 OK\r\ndate: now\r\nServer: engine\r\nContent-Length: 3\r\n\r\nabc",
    "empty": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "no_content": b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n",
    "not_modified": b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nContent-Length: 5\r\n\r\n',
    "own_reason": b"HTTP/1.1 299 Quite All Right\r\nContent-Length: 0\r\n\r\n",
    "no_reason": b"HTTP/1.1 500 \r\nContent-Length: 1\r\n\r\nx",
    "odd_headers": b"HTTP/1.1 200 OK\r\nx-UPPER: \xe9\r\nA: 1\r\na: 2\r\nEmpty: \r\nContent-Length: 0\r\n\r\n",
    "cookies": b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n",
    "redirect": b"HTTP/1.1 307 Go\r\nLocation: http://elsewhere.example.com/\r\nContent-Length: 0\r\n\r\n",
    "odd_bytes": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ODD), ODD),
    "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s"
    % (len(gzip.compress(ODD, mtime=0)), gzip.compress(ODD, mtime=0)),
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES.keys())
def test_a_response_is_the_same_but_for_the_connection(response: bytes) -> None:
    with before(whole(response)) as (_, running):
        got = ask(running.port, request("/x", b"body"))
    head, _, body = response.partition(b"\r\n\r\n")
    assert got == head + b"\r\nConnection: close\r\n\r\n" + body


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_a_body_without_length_reaches_every_client(version: str, framing: str) -> None:
    body = chunked(b"ab") + chunked(ODD) + b"0\r\n\r\n" if framing == "chunked" else b"ab" + ODD
    head = b"HTTP/1.1 200 OK\r\n" + (b"Transfer-Encoding: chunked\r\n" if framing == "chunked" else b"")
    with raw_server(whole(head + b"\r\n" + body)) as engine, sidecar(f"127.0.0.1:{engine.port}") as running:
        got = ask(running.port, request("/x").replace(b"HTTP/1.1", b"HTTP/" + version.encode()))
    assert (b"chunked" in got.partition(b"\r\n\r\n")[0]) == (version == "1.1")
    assert body_of(got) == b"ab" + ODD


def test_a_request_reaches_the_engine_as_it_was_sent() -> None:
    sent = (
        b"PATCH /a/../b//c%2f?x=[1]&y=%zz&&#f HTTP/1.1\r\nhost: Engine.Example.com\r\nX-One: 1\r\nx-one: 2\r\n"
        b"Accept-Encoding: br\r\nAuthorization: Bearer k\r\nX-Latin: \xe9\r\ncontent-length: 4\r\n\r\nbody"
    )
    with before(answer(b"")) as (engine, running):
        with connection(running.port) as sock:
            sock.sendall(sent)
            read_until(sock, b"\r\n\r\n")
        eventually(lambda: engine.requests)
        assert engine.requests == [sent]


def test_fields_of_one_hop_stay_on_it() -> None:
    sent = request(
        "/x",
        headers={"Connection": "close, X-Mine, Host", "X-Mine": "1", "Keep-Alive": "5", "TE": "gzip", "X-Y": "2"},
    )
    with raw_server(answer(b"", "Keep-Alive: timeout=5", "Connection: X-Hop", "X-Hop: 1", "X-End: 1")) as engine:
        with sidecar(f"127.0.0.1:{engine.port}") as running:
            got = ask(running.port, sent)
        seen = engine.requests[0]
    assert seen == b"POST /x HTTP/1.1\r\nHost: engine.example.com\r\nX-Y: 2\r\n\r\n"
    assert got == b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-End: 1\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("target", ["http://evil.example.com:1/p?q", "HTTPS://a@evil.example.com/p?q"])
def test_the_engine_is_the_only_server(target: str) -> None:
    with raw_server(answer(b"")) as engine, sidecar(f"http://127.0.0.1:{engine.port}/base/v1") as running:
        ask(running.port, request(target, method="GET"))
        assert engine.requests[0].startswith(b"GET /base/p?q HTTP/1.1\r\n")


def test_the_engines_own_name_can_be_sent() -> None:
    with raw_server(answer(b"")) as engine:
        with sidecar(f"127.0.0.1:{engine.port}", rewrite_host=True) as running:
            ask(running.port, request("/x"))
        assert b"\r\nHost: 127.0.0.1:%d\r\n" % engine.port in engine.requests[0]


@pytest.mark.parametrize(
    ("method", "target"), [("OPTIONS", "*"), ("OPTIONS", "/v1/models"), ("DELETE", "/x"), ("PROPFIND", "/x")]
)
def test_other_methods_pass(method: str, target: str) -> None:
    with raw_server(answer(b"yes")) as engine, sidecar(f"127.0.0.1:{engine.port}") as running:
        assert ask(running.port, request(target, method=method)).endswith(b"yes")
        assert engine.requests[0].startswith(f"{method} {target} HTTP/1.1\r\n".encode())


@pytest.mark.parametrize("framing", [b"Content-Length: 5", b"Transfer-Encoding: chunked", b"X-None: 1"])
def test_head_has_the_headers_and_no_body(framing: bytes) -> None:
    script = whole(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n")
    with before(script) as (_, running):
        got = ask(running.port, request("/x", method="HEAD"))
    assert got == b"HTTP/1.1 200 OK\r\n" + framing + b"\r\nConnection: close\r\n\r\n"


def test_interim_responses_and_trailers_pass() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    late = b"0\r\nX-Sum: 1\r\n\r\n"
    response = early + sse_head("Trailer: X-Sum") + chunked(b"a") + late
    with before(whole(response)) as (engine, running):
        got = ask(running.port, request("/x", headers={"TE": "trailers"}))
        seen = engine.requests[0]
    assert got.startswith(early + b"HTTP/1.1 200 OK\r\n")
    assert got.endswith(chunked(b"a") + late)
    assert b"TE: trailers\r\nConnection: TE\r\n" in seen


def test_trailers_of_a_request_pass() -> None:
    sent = b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\nX-T: 1\r\n\r\n"

    def script(visit: Visit) -> None:
        visit.read_head()
        while not visit.request.endswith(b"X-T: 1\r\n\r\n"):
            visit.request += visit.sock.recv(1000)
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with before(script) as (engine, running):
        with connection(running.port) as sock:
            sock.sendall(sent)
            read_until(sock, b"\r\n\r\n")
        eventually(lambda: engine.requests)
        assert engine.requests == [sent]


def test_a_client_that_expects_to_continue_waits_for_the_engine() -> None:
    asked = threading.Event()

    def script(visit: Visit) -> None:
        visit.read_head()
        asked.wait(10)
        visit.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert visit.sock.recv(100) == b"body"
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with before(script) as (_engine, running), connection(running.port) as sock:
        sock.sendall(request("/x", headers={"Expect": "100-continue", "Content-Length": "4"}))
        asked.set()
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"body")
        assert read_all(sock).endswith(b"\r\n\r\nok")


def test_a_refused_expectation_ends_the_request() -> None:
    with before(answer(b"no", status="417 Expectation Failed")) as (_, running):
        got = ask(running.port, request("/x", headers={"Expect": "100-continue", "Content-Length": "4"}))
    assert got.startswith(b"HTTP/1.1 417 Expectation Failed\r\n")
    assert got.endswith(b"no")


def test_an_answer_before_the_body_is_read_reaches_the_client() -> None:
    script = answer(b"too much", status="413 Payload Too Large")
    with before(script) as (_, running), connection(running.port) as sock:
        sock.sendall(request("/x", headers={"Content-Length": "100000"}))
        assert read_all(sock).endswith(b"too much")


@pytest.mark.parametrize("coding", ["length", "chunked"])
def test_ten_mebibytes_pass_both_ways(coding: str) -> None:
    body = bytes(range(256)) * 40_960

    def script(visit: Visit) -> None:
        received = read_request(visit)
        plain = body_of(b"transfer-encoding: chunked\r\n\r\n" + received) if coding == "chunked" else received
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(plain), plain)

    if coding == "length":
        sent = request("/v1/chat/completions", body)
    else:
        pieces = [chunked(body[start : start + 100_000]) for start in range(0, len(body), 100_000)]
        sent = request("/x", headers={"Transfer-Encoding": "chunked"}) + b"".join(pieces) + b"0\r\n\r\n"
    with before(script) as (_, running):
        got = ask(running.port, sent)
        assert body_of(got) == body
        assert sample(running, "specwatch_request_body_bytes_total", direction="request") == len(body)
        assert sample(running, "specwatch_request_body_bytes_total", direction="response") == len(body)


def test_connections_are_kept_on_both_sides() -> None:
    def script(visit: Visit) -> None:
        for _ in range(3):
            visit.request = b""
            visit.read_head()
            visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        visit.hang()

    with before(script) as (_, running), connection(running.port) as sock:
        for _ in range(3):
            sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
            assert read_until(sock, b"x").endswith(b"\r\n\r\nx")
        assert running.service.pool.open_count == 1


def test_http_1_0_can_keep_its_connection() -> None:
    def script(visit: Visit) -> None:
        for _ in range(2):
            visit.request = b""
            visit.read_head()
            visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")

    with before(script) as (_, running), connection(running.port) as sock:
        for _ in range(2):
            sock.sendall(b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert b"\r\nConnection: keep-alive\r\n" in read_until(sock, b"\r\n\r\nx")


def test_pipelined_requests_are_answered_in_order() -> None:
    def script(visit: Visit) -> None:
        visit.read_head()
        path = visit.request.split(b" ")[1]
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n", path)

    sent = b"".join(b"POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nb" % number for number in range(8))
    with before(script) as (_, running):
        got = ask(running.port, sent + request("/8"))
    assert [part[:2] for part in got.split(b"\r\n\r\n")[1:]] == [b"/%d" % number for number in range(9)]


def test_too_many_pipelined_requests_are_refused_in_their_turn() -> None:
    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")

    with before(script) as (_, running):
        got = ask(running.port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 1000)
    assert got.count(b"HTTP/1.1 200 OK") == ProxyLimits().pipelined
    assert got.count(b"HTTP/1.1 429 Too Many Requests") == 1


def test_an_offer_to_upgrade_is_passed_over() -> None:
    headers = {"Connection": "Upgrade, HTTP2-Settings, close", "Upgrade": "h2c", "HTTP2-Settings": "AAA"}
    with raw_server(answer(b"plain")) as engine, sidecar(f"127.0.0.1:{engine.port}") as running:
        got = ask(running.port, request("/x", b"body", headers=headers))
        assert got.endswith(b"plain")
        assert engine.requests[0].startswith(
            b"POST /x HTTP/1.1\r\nHost: engine.example.com\r\nContent-Length: 4\r\n"
        )
