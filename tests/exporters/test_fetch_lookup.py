"""Names that do not resolve, and addresses that refuse."""

from __future__ import annotations

import socket
import threading

from exporters.fetch_rig import (
    PAGE,
    failure,
    free_port,
)
from exporters.raw_server import answer, raw_server
from specwatch_exporters.sidecar.deadline import Deadline
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import Cause
from specwatch_exporters.sidecar.resolve import Address, Resolver


def wait_for_threads(prefix: str) -> None:
    for thread in threading.enumerate():
        if thread.name.startswith(prefix):
            thread.join(10)
            assert not thread.is_alive()


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
