"""A connection that is used again behind a large body, and heads and trailers that never end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.proxy.proxy_rig import (
    CHAT,
    before,
    chunked,
    connection,
    eventually,
    read_request,
    read_until,
    request,
    sample,
)
from exporters.raw_server import Visit
from specwatch_exporters.proxy.http_head import Header, RequestHead
from specwatch_exporters.proxy.own_answers import Refusal
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.request_parser import RefusedError, RequestParser
from specwatch_exporters.proxy.response_parser import AnswerError, ResponseParser

LIMITS = ProxyLimits()
POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
SIZES = [65_000, 70_000, 3 << 20, 10 << 20]


class Requests:
    """Counts what the parser hands on."""

    def __init__(self) -> None:
        self.bodies: list[int] = []
        self.ended = 0

    def request_head(self, _head: RequestHead) -> None:
        self.bodies.append(0)

    def request_body(self, data: bytes) -> None:
        self.bodies[-1] += len(data)

    def request_end(self, _trailers: list[Header]) -> None:
        self.ended += 1


def message(size: int, coding: str) -> bytes:
    if coding == "length":
        return POST + b"Content-Length: %d\r\n\r\n" % size + b"x" * size
    unit = 5 if size < 1 << 20 else 5000
    whole, rest = divmod(size, unit)
    body = chunked(b"x" * unit) * whole + (chunked(b"x" * rest) if rest else b"")
    return POST + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n"


@pytest.mark.parametrize("coding", ["length", "chunked"])
@pytest.mark.parametrize("size", SIZES)
def test_a_body_is_no_part_of_the_next_head(size: int, coding: str) -> None:
    found = Requests()
    parser = RequestParser(found, LIMITS)
    parser.feed(message(size, coding))
    parser.feed(message(3, "length") * 2)
    assert found.bodies == [size, 3, 3]
    assert found.ended == 3


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 60_000, 70_000]), st.sampled_from(["length", "chunked"])), max_size=4
    ),
    st.sampled_from([1000, 65_536, 262_144, 10_000_000]),
)
@settings(max_examples=25)
def test_however_requests_are_cut_none_is_refused(messages: list[tuple[int, str]], step: int) -> None:
    found = Requests()
    parser = RequestParser(found, LIMITS)
    data = b"".join(message(*one) for one in messages)
    for start in range(0, len(data), step):
        parser.feed(data[start : start + step])
    assert found.bodies == [size for size, _ in messages]


@pytest.mark.parametrize("coding", ["length", "chunked"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("usage", [False, True])
def test_no_byte_follows_the_answer_to_a_large_body(size: int, coding: str, usage: bool) -> None:
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    def script(visit: Visit) -> None:
        for _ in range(2):
            visit.request = b""
            read_request(visit)
            visit.send(ok)
        visit.hang()

    with before(script, request_usage=usage) as (_, running), connection(running.port) as sock:
        for _ in range(2):
            sock.sendall(message(size, coding).replace(b"POST /", b"POST " + CHAT.encode(), 1))
            assert read_until(sock, b"ok") == ok
        sock.settimeout(0.1)
        with pytest.raises(TimeoutError):
            sock.recv(1)


def test_a_client_that_waits_to_continue_may_send_more_than_is_held() -> None:
    size = 1_500_000

    def script(visit: Visit) -> None:
        assert len(read_request(visit)) == size
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        visit.hang()

    head = request(
        CHAT, headers={"Expect": "100-continue", "Content-Length": str(size), "Connection": "keep-alive"}
    )
    with before(script, request_usage=True) as (_, running), connection(running.port) as sock:
        sock.sendall(head)
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"x" * size)
        assert read_until(sock, b"ok").startswith(b"HTTP/1.1 200 OK\r\n")
        sock.close()
        eventually(lambda: running.service.client_count == 0)
        eventually(lambda: sample(running, "specwatch_request_in_flight") == 0, "its class is found in a thread")


ENDLESS = {
    "target": b"GET /",
    "name": b"GET / HTTP/1.1\r\nx",
    "content": b"GET / HTTP/1.1\r\nx: ",
    "behind a request": b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nx: ",
    "trailer": POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx: ",
    "trailer name": POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx",
}


def feed_all(parser: RequestParser | ResponseParser, step: int, times: int) -> None:
    for _ in range(times):
        parser.feed(b"y" * step)


@pytest.mark.parametrize("begin", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("step", [1000, 60_000])
def test_what_never_ends_is_refused_in_bounded_memory(begin: bytes, step: int) -> None:
    parser = RequestParser(Requests(), LIMITS)
    parser.feed(begin)
    with pytest.raises(RefusedError) as caught:
        feed_all(parser, step, 3 * LIMITS.head_bytes // step + 1)
    wanted = Refusal.TARGET_TOO_LONG if begin == ENDLESS["target"] else Refusal.HEAD_TOO_LARGE
    assert caught.value.refusal is wanted


ANSWER = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 ", b"HTTP/1.1 200 OK\r\nx: ", ANSWER + b"x: "])
def test_an_answer_that_never_ends_its_head_is_given_up(begin: bytes) -> None:
    parser = ResponseParser(b"GET", LIMITS)
    parser.feed(begin)
    with pytest.raises(AnswerError, match="too large"):
        feed_all(parser, 1000, 200)


def test_many_interim_answers_in_one_read_are_no_large_head() -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </" + b"x" * 1000 + b">\r\n\r\n"
    parser = ResponseParser(b"GET", LIMITS)
    assert len(parser.feed(hint * 100).interim) == 100
    assert parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").end
