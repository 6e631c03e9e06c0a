"""A key with a certificate that nobody has signed but itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def self_signed(folder: Path, name: str) -> Path:
    """One PEM file with a key and its certificate, and beside it `ca.pem` to trust it by.

    Args:
        folder: where to put both.
        name: of the server, as openssl writes it: `DNS:localhost` or `IP:127.0.0.1`.
    """
    pem = folder / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=specwatch-test", "-addext", f"subjectAltName={name}"]
    try:
        subprocess.run([*command, "-keyout", pem, "-out", folder / "ca.pem"], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.fail("the openssl program is missing: apt-get install openssl")
    pem.write_bytes(pem.read_bytes() + (folder / "ca.pem").read_bytes())
    return pem
