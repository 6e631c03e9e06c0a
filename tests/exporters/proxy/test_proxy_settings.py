from __future__ import annotations

from pathlib import Path

import pytest

from specwatch_exporters.proxy.options import OPTIONS
from specwatch_exporters.proxy.settings import load
from specwatch_exporters.sidecar.settings import SettingsError

UPSTREAM = {"upstream": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    ("text", "host", "port", "path", "scheme"),
    [
        ("127.0.0.1:8000", "127.0.0.1", 8000, "/", "http"),
        ("http://engine.example.com", "engine.example.com", 80, "/", "http"),
        ("https://engine.example.com/base/", "engine.example.com", 443, "/base", "https"),
        ("http://[::1]:8000/v1", "::1", 8000, "/", "http"),
    ],
)
def test_the_engines_address(text: str, host: str, port: int, path: str, scheme: str) -> None:
    found = load({"upstream": text}, {}).upstream
    assert (found.host, found.port, found.path or "/", found.scheme) == (host, port, path, scheme)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "--upstream .or SPECWATCH_UPSTREAM. is missing"),
        ({"upstream": "engine"}, "it has no port"),
        ({"upstream": "ftp://engine:1"}, "its scheme is 'ftp'"),
        ({"upstream": "http://u:s3cret@engine:1"}, "credentials belong into the clients' own requests"),
        ({**UPSTREAM, "listen": "x"}, "it has no port"),
        ({**UPSTREAM, "listen": ":1", "admin_listen": "127.0.0.1:1"}, "has the same port"),
        ({**UPSTREAM, "max_body": "64"}, "it is not a size"),
        ({**UPSTREAM, "max_body": "1GiB", "drain": "5"}, "it has no unit"),
        ({**UPSTREAM, "max_body": "9GiB"}, "it is out of range"),
        ({"upstream": "https://127.0.0.1:1", "ca_file": str(Path(__file__))}, "--ca-file .*it holds no"),
        ({**UPSTREAM, "ca_file": str(Path(__file__))}, "--ca-file .*it holds no certificate in PEM form"),
        ({**UPSTREAM, "insecure": True}, "--insecure: --upstream is not https"),
        ({**UPSTREAM, "max_connections": "0"}, "--max-connections '0': no client could connect"),
        ({**UPSTREAM, "max_connections": "x"}, "--max-connections 'x': it is not a whole number"),
        ({**UPSTREAM, "max_connections": "99999999"}, "the limit on open files has room for"),
        ({**UPSTREAM, "class_rules": "/nowhere/x.toml"}, "it cannot be read"),
        ({**UPSTREAM, "class_rules": str(Path(__file__))}, "--class-rules: .*test_proxy_settings.py"),
        ({**UPSTREAM, "classifier": "/nowhere/x.bin"}, "--classifier: .*x.bin"),
        ({**UPSTREAM, "classifier": str(Path(__file__))}, "--classifier: .*test_proxy_settings.py"),
        ({**UPSTREAM, "log_level": "loud"}, "it is not one of the choices"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(flags: dict[str, str | bool], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        load(flags, {})
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_the_environment_sets_what_no_flag_does() -> None:
    environ = {"SPECWATCH_UPSTREAM": "10.0.0.1:1", "SPECWATCH_MAX_BODY": "2MiB", "SPECWATCH_REQUEST_USAGE": "true"}
    found = load({"max_body": "3MiB"}, environ)
    assert (found.upstream.host, found.max_body, found.request_usage) == ("10.0.0.1", 3 << 20, True)


def test_defaults() -> None:
    found = load(UPSTREAM, {})
    assert (str(found.listen), str(found.admin_listen)) == (":8080", ":9478")
    assert (found.request_usage, found.classifier, found.rules) == (False, None, ())
    assert (found.max_body, found.drain_s) == (64 << 20, 30.0)


def test_no_variable_clashes_with_what_kubernetes_sets() -> None:
    names = {option.variable for option in OPTIONS}
    assert len(names) == len(OPTIONS)
    assert not names & {"SPECWATCH_PORT", "SPECWATCH_SERVICE_HOST", "SPECWATCH_SERVICE_PORT"}


@pytest.mark.parametrize(
    ("upstream", "listen"),
    [
        ("127.0.0.1:8080", ":8080"),
        ("localhost:8080", ":8080"),
        ("LOCALHOST:8080", "127.0.0.1:8080"),
        ("127.0.0.1:8080", "localhost:8080"),
        ("http://[::1]:8080/v1", "[::]:8080"),
        ("http://[::ffff:127.0.0.1]:8080", "127.0.0.1:8080"),
        ("0.0.0.0:8080", "127.0.0.1:8080"),
        ("127.0.0.2:8080", "0.0.0.0:8080"),
        ("https://127.0.0.1", ":443"),
    ],
)
@pytest.mark.parametrize("port", ["listen", "admin_listen"])
def test_the_sidecar_is_no_engine(upstream: str, listen: str, port: str) -> None:
    other = "admin_listen" if port == "listen" else "listen"
    flag = port.replace("_", "-")
    with pytest.raises(SettingsError, match=f"^--upstream: --{flag} is the same address; accepted: ") as caught:
        load({"upstream": upstream, port: listen, other: ":1"}, {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("upstream", "listen"),
    [
        ("127.0.0.1:8000", ":8080"),
        ("engine.example.com:8080", ":8080"),
        ("192.0.2.1:8080", ":8080"),
        ("127.0.0.1:8080", "127.0.0.2:8080"),
        ("http://[2001:db8::1]:8080", ":8080"),
    ],
)
def test_another_address_with_the_same_port_is_one(upstream: str, listen: str) -> None:
    assert load({"upstream": upstream, "listen": listen}, {}).upstream.port in (8000, 8080)
