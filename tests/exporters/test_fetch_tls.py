"""TLS: authorities, a replaced file, the wrong scheme."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.certificate_rig import self_signed
from exporters.fetch_rig import (
    PAGE,
    failure,
    hang_at_once,
)
from exporters.raw_server import RawServer, Visit, answer, raw_server
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import Cause
from specwatch_exporters.sidecar.tls_trust import TlsTrust


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1")


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[RawServer]:
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
