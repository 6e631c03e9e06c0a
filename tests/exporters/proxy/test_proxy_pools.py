"""Requests of one sidecar shared out over several engines by weight."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporters.proxy.pool_rig import admin, chat_answer, pools, set_weights, shares
from exporters.proxy.proxy_rig import CHAT, ask, body_of, eventually, read_request, request, sample
from exporters.raw_server import RawServer, Visit, raw_server
from specwatch_exporters.proxy.run import RequestSidecar

ASKED = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()


def chat(running: RequestSidecar) -> str:
    """Which engine answered."""
    body = json.loads(body_of(ask(running.port, request(CHAT, ASKED))))
    if "error" in body:
        return str(body["error"]["message"])
    return str(body["choices"][0]["message"]["content"])


@contextmanager
def two(path: Path, **flags: str | bool) -> Iterator[tuple[RawServer, RawServer, RequestSidecar]]:
    with raw_server(chat_answer("a")) as first, raw_server(chat_answer("b")) as second:
        upstream = f"draft=127.0.0.1:{first.port} ngram=127.0.0.1:{second.port}"
        with pools(upstream, path / "token", **flags) as running:
            yield first, second, running


def answer_once(listener: socket.socket) -> None:
    sock, _ = listener.accept()
    with sock:
        chat_answer("a")(Visit(sock, threading.Event()))


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_the_first_pool_gets_everything_until_weights_are_set(tmp_path: Path) -> None:
    with two(tmp_path) as (_, second, running):
        assert [chat(running) for _ in range(5)] == ["a"] * 5
        assert second.requests == []
        assert set_weights(running, {"ngram": 1}).status == 200
        assert [chat(running) for _ in range(5)] == ["b"] * 5


def test_weights_are_exact_shares_and_not_luck(tmp_path: Path) -> None:
    with two(tmp_path) as (_, _, running):
        set_weights(running, {"draft": 0.05, "ngram": 0.95})
        assert Counter(chat(running) for _ in range(40)) == {"a": 2, "b": 38}
        assert shares(running) == {"draft": 0.05, "ngram": 0.95}


def test_each_request_is_labelled_with_its_pools_method_and_counted(tmp_path: Path) -> None:
    with two(tmp_path) as (_, _, running):
        set_weights(running, {"draft": 1, "ngram": 2})
        for _ in range(9):
            chat(running)
        eventually(lambda: sample(running, "specwatch_request_pool_requests_total", outcome="success") == 9)
        eventually(lambda: sample(running, "specwatch_request_pool_in_flight") == 0)
        e2e = "specwatch_request_e2e_latency_seconds_count"
        assert sample(running, e2e, speculation="draft") == 3
        assert sample(running, e2e, speculation="ngram") == 6
        assert sample(running, "specwatch_request_pool_requests_total", pool="ngram", outcome="success") == 6
        assert sample(running, "specwatch_request_pool_output_tokens_total", pool="draft") == 12
        assert sample(running, "specwatch_request_pool_token_latency_seconds_count", pool="draft") == 3
        assert sample(running, "specwatch_request_pool_share_ratio", pool="draft") == pytest.approx(1 / 3)


def test_one_connection_of_a_client_serves_all_pools(tmp_path: Path) -> None:
    with two(tmp_path) as (_, _, running):
        set_weights(running, {"draft": 1, "ngram": 1})
        pair = request(CHAT, ASKED, headers={"Connection": "keep-alive"}) + request(CHAT, ASKED)
        answer = ask(running.port, pair)
        assert (b'"content": "a"' in answer, b'"content": "b"' in answer) == (True, True)


def test_a_request_under_way_stays_where_it_is_and_the_pool_drains(tmp_path: Path) -> None:
    go_on = threading.Event()

    def slow(visit: Visit) -> None:
        read_request(visit)
        go_on.wait(20)
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ns")

    with raw_server(slow) as first, raw_server(chat_answer("b")) as second:
        upstream = f"draft=127.0.0.1:{first.port} ngram=127.0.0.1:{second.port}"
        with pools(upstream, tmp_path / "token") as running:
            answers: list[bytes] = []
            thread = threading.Thread(target=lambda: answers.append(ask(running.port, request("/x", b"y"))))
            thread.start()
            in_flight = "specwatch_request_pool_in_flight"
            eventually(lambda: sample(running, in_flight, pool="draft") == 1)
            set_weights(running, {"ngram": 1})
            assert chat(running) == "b"
            assert sample(running, in_flight, pool="draft") == 1
            go_on.set()
            thread.join()
            assert answers[0].endswith(b"\r\n\r\ns")
            eventually(lambda: sample(running, in_flight, pool="draft") == 0)
            assert len(first.requests) == 1


def test_a_pool_out_of_reach_is_passed_over_and_found_again(tmp_path: Path) -> None:
    port = closed_port()
    with raw_server(chat_answer("b")) as second:
        upstream = f"draft=127.0.0.1:{port} ngram=127.0.0.1:{second.port}"
        with pools(upstream, tmp_path / "token") as running:
            set_weights(running, {"draft": 1, "ngram": 1})
            assert [chat(running) for _ in range(10)] == ["b"] * 10
            passed = "specwatch_request_pool_passed_over_total"
            assert sample(running, passed, pool="draft") > 0
            assert sample(running, "specwatch_request_pool_requests_total", pool="draft") == 0
            assert sample(running, passed, pool="ngram") == 0
            with socket.create_server(("127.0.0.1", port)) as listener:
                threading.Thread(target=answer_once, args=(listener,), daemon=True).start()
                eventually(lambda: chat(running) == "a")


def test_a_pool_without_weight_is_no_way_out(tmp_path: Path) -> None:
    with raw_server(chat_answer("b")) as second:
        upstream = f"draft=127.0.0.1:{closed_port()} ngram=127.0.0.1:{second.port}"
        with pools(upstream, tmp_path / "token") as running:
            assert "cannot be reached" in chat(running)
            assert second.requests == []
            unreachable = {"pool": "draft", "outcome": "unreachable"}
            assert sample(running, "specwatch_request_pool_requests_total", **unreachable) == 1


def test_a_request_that_was_sent_is_never_sent_again(tmp_path: Path) -> None:
    def leaves(visit: Visit) -> None:
        read_request(visit)

    with raw_server(leaves) as first, raw_server(chat_answer("b")) as second:
        upstream = f"draft=127.0.0.1:{first.port} ngram=127.0.0.1:{second.port}"
        with pools(upstream, tmp_path / "token") as running:
            set_weights(running, {"draft": 1, "ngram": 1})
            assert "closed the connection" in chat(running)
            assert second.requests == []
            assert sample(running, "specwatch_request_pool_requests_total", pool="draft", outcome="error") == 1


def test_the_path_of_each_pool_is_its_own(tmp_path: Path) -> None:
    with raw_server(chat_answer("a")) as first, raw_server(chat_answer("b")) as second:
        upstream = f"draft=127.0.0.1:{first.port}/one ngram=127.0.0.1:{second.port}/two"
        with pools(upstream, tmp_path / "token", rewrite_host=True) as running:
            set_weights(running, {"draft": 1, "ngram": 1})
            chat(running)
            chat(running)
        assert first.requests[0].startswith(b"POST /one/v1/chat")
        assert second.requests[0].startswith(b"POST /two/v1/chat")
        assert f"Host: 127.0.0.1:{second.port}\r\n".encode() in second.requests[0]


def test_one_upstream_has_no_pools() -> None:
    with raw_server(chat_answer("a")) as engine, pools(f"127.0.0.1:{engine.port}") as running:
        assert chat(running) == "a"
        assert admin(running).status == 404
        assert sample(running, "specwatch_request_pool_share_ratio") == 0
        assert admin(running, "PUT", {"weights": {}}).status == 405
