from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.certificate_rig import self_signed
from exporters.proxy.proxy_rig import ask, request, sidecar
from exporters.raw_server import Visit, raw_server
from specwatch_exporters.proxy.settings import load
from specwatch_exporters.sidecar.settings import SettingsError


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"), "DNS:localhost")


@pytest.fixture
def secure_port(certificate: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def script(visit: Visit) -> None:
        with context.wrap_socket(visit.sock, server_side=True) as secure:
            secure.recv(10_000)
            secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")

    with raw_server(script) as engine:
        yield engine.port


def test_an_engine_behind_https_is_trusted_by_its_authority(secure_port: int, certificate: Path) -> None:
    ca_file = str(certificate.with_name("ca.pem"))
    with sidecar(f"https://localhost:{secure_port}", ca_file=ca_file) as running:
        assert ask(running.port, request("/x")).endswith(b"\r\n\r\nsecret")


def test_any_certificate_is_trusted_if_that_is_wanted(secure_port: int) -> None:
    with sidecar(f"https://127.0.0.1:{secure_port}", insecure=True) as running:
        assert ask(running.port, request("/x")).endswith(b"\r\n\r\nsecret")


def test_a_stranger_is_not_trusted(secure_port: int) -> None:
    with sidecar(f"https://localhost:{secure_port}") as running:
        assert ask(running.port, request("/x")).startswith(b"HTTP/1.1 502 Bad Gateway\r\n")


def test_what_would_not_be_used_is_refused(certificate: Path) -> None:
    trusted = str(certificate.with_name("ca.pem"))
    with pytest.raises(SettingsError, match="--insecure: --ca-file would not be used"):
        load({"upstream": "https://e:1", "insecure": True, "ca_file": trusted}, {})
    with pytest.raises(SettingsError, match=r"^SPECWATCH_CA_FILE: --upstream is not https, so it would"):
        load({"upstream": "http://e:1"}, {"SPECWATCH_CA_FILE": trusted})
    assert load({"upstream": "https://e:1", "ca_file": trusted}, {}).ca_file == Path(trusted)
