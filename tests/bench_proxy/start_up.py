"""Starts the stub and the contenders and waits until each answers through its own port."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench_proxy import wire
from bench_proxy.bench import Bench, last_line
from bench_proxy.child import running
from bench_proxy.contender import Contender, Place, UnavailableError, free_port
from bench_proxy.entry import Entry

_READY_S: Final = 120.0


class StubError(RuntimeError):
    """The stub does not run; the message says what it printed."""


@dataclass(frozen=True)
class RunningStub:
    """The stub's process and ports."""

    pid: int
    http: int
    arrivals: int


def start_stub(bench: Bench, stack: ExitStack) -> RunningStub:
    """Start the stub; it ends with the stack. Raises StubError."""
    log = bench.folder / "stub.log"
    process = stack.enter_context(running(bench.module("stub"), log, bench.cores.load, piped=True))
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise StubError(f"the stub did not start: {last_line(log)}")
    return RunningStub(process.pid, **json.loads(line))


def start_contender(bench: Bench, contender: Contender, stub: RunningStub, stack: ExitStack) -> Entry:
    """Fetch and start one contender, which ends with the stack; what keeps it from running is its reason."""
    entry = Entry(contender.name, port=free_port())
    folder = bench.folder / contender.name.replace(" ", "")
    folder.mkdir()
    try:
        entry.version = contender.prepare()
        bench.say(f"{contender.name} {entry.version}: starting")
        launch = contender.launch(Place(folder, entry.port, stub.http))
        process = stack.enter_context(running(launch, folder / "log", bench.cores.proxy))
        wait_until_it_answers(process, entry.port, folder / "log")
        entry.pid = process.pid
    except (UnavailableError, OSError) as error:
        entry.reason = str(error)
        bench.say(f"{contender.name}: {entry.reason}")
    return entry


def wait_until_it_answers(process: subprocess.Popen[str], port: int, log: Path) -> None:
    """Send small requests until one is answered with 200; raises UnavailableError where none is in time."""
    deadline = time.monotonic() + _READY_S
    said = "it did not listen"
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise UnavailableError(f"ended with status {process.returncode}: {last_line(log)}")
        try:
            with urllib.request.urlopen(_small_request(port), timeout=10):
                return
        except urllib.error.HTTPError as error:
            said = f"status {error.code}"
            error.close()
        except OSError as error:
            said = str(error)
        time.sleep(0.2)
    raise UnavailableError(f"no good answer within {_READY_S:.0f} s: {said}; its log ends: {last_line(log)}")


def _small_request(port: int) -> urllib.request.Request:
    body = wire.request_body(wire.StreamOrder("whole"))
    headers = {"Content-Type": "application/json"}
    return urllib.request.Request(f"http://127.0.0.1:{port}{wire.PATH}", data=body, headers=headers)
