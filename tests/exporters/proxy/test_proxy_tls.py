from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.proxy.proxy_rig import ask, request, sidecar
from exporters.raw_server import Visit, raw_server
from specwatch_exporters.proxy.settings import load
from specwatch_exporters.sidecar.settings import SettingsError


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key with its certificate for `localhost`, and beside it `ca.pem` to trust it by."""
    folder = tmp_path_factory.mktemp("tls")
    pem = folder / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    try:
        subprocess.run([*command, "-keyout", pem, "-out", folder / "ca.pem"], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.fail("the openssl program is missing: apt-get install openssl")
    pem.write_bytes(pem.read_bytes() + (folder / "ca.pem").read_bytes())
    return pem


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
