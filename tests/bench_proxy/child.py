"""Programs that a run starts: on which core, where their output goes, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench_proxy.processes import with_descendants

_STOP_S = 10.0


@dataclass(frozen=True)
class Launch:
    """A command line.

    Attributes:
        command: the program and its arguments.
        environment: variables besides those of this process.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """Let what is started in the block, threads included, run on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def running(launch: Launch, log: Path, cores: set[int], *, piped: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Run a program in a process group of its own until the block ends; its errors go to `log`."""
    with log.open("w") as sink, on_cores(cores):
        output: IO[str] | int = subprocess.PIPE if piped else sink
        process = subprocess.Popen(
            launch.command,
            env={**os.environ, **launch.environment},
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=sink,
            start_new_session=True,
            text=True,
        )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Terminate the program and what it started, by their process ids."""
    pids = with_descendants(process.pid) if process.poll() is None else []
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in pids[1:]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
