from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exporters.proxy.proxy_rig import PATIENCE_S, ask, connection, eventually, read_until, request
from exporters.raw_server import Visit, raw_server

COMMAND = (str(Path(sys.executable).with_name("specwatch")), "proxy", "run")
LISTEN = ("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")


@contextmanager
def started_before(upstream: int) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """Run the command; gives the process, the port for clients, and the one for metrics."""
    arguments = ("--upstream", f"127.0.0.1:{upstream}")
    with subprocess.Popen([*COMMAND, *LISTEN, *arguments], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"from port (\d+) on to \S+, metrics on port (\d+)", line)
            assert found is not None, line
            yield process, int(found[1]), int(found[2])
        finally:
            process.kill()


def answered(visit: Visit) -> None:
    visit.read_head()
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", b"cd")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_runs_and_stops_cleanly(stop: signal.Signals) -> None:
    with raw_server(answered) as engine, started_before(engine.port) as (process, port, admin):
        assert ask(port, request("/x")).endswith(b"\r\n\r\nabcd")
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics") as response:
            page = response.read().decode()
        assert 'specwatch_request_body_bytes_total{direction="response"} 4.0' in page
        assert "_created" not in page
        process.send_signal(stop)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_stream_under_way_may_finish() -> None:
    go_on = threading.Event()

    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        go_on.wait(PATIENCE_S)
        visit.send(b"cd")

    with raw_server(script) as engine, started_before(engine.port) as (process, port, _), connection(port) as sock:
        sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        read_until(sock, b"ab")
        process.send_signal(signal.SIGTERM)
        go_on.set()
        assert read_until(sock, b"cd") == b"cd"
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("stops", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)])
def test_a_second_signal_cuts_off_what_the_first_waits_for(stops: tuple[signal.Signals, signal.Signals]) -> None:
    def script(visit: Visit) -> None:
        visit.read_head()
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
        visit.hang()

    with raw_server(script) as engine, started_before(engine.port) as (process, port, _), connection(port) as sock:
        sock.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        read_until(sock, b"ab")
        process.send_signal(stops[0])
        eventually(lambda: refuses(port))
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(stops[1])
        assert read_until(sock, b"cd") == b""
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ((), 2, "specwatch: --upstream (or SPECWATCH_UPSTREAM) is missing"),
        (("--upstream", "http://u:s3cret@engine:1"), 2, "specwatch: --upstream 'http://***@engine:1': credentials"),
        (("--upstream", "127.0.0.1:1", "--listen", "192.0.2.1:1"), 1, "specwatch: cannot listen on 192.0.2.1:1: "),
        (("--upstream", "127.0.0.1:8080"), 2, "specwatch: --upstream: --listen is the same address; accepted: "),
        (("--upstream", "https://e:1", "--ca-file", __file__), 2, f"specwatch: --ca-file '{__file__}': it"),
        (("--upstream", "127.0.0.1:1", "--ca-file", "/nowhere"), 2, "specwatch: --ca-file '/nowhere': it cannot"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], code: int, line: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1
    assert "s3cret" not in done.stderr
