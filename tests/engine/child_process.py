"""A program that a test starts beside the engine and that is gone when the test is over."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

READY_DEADLINE_S = 60.0
STOP_DEADLINE_S = 15.0


class ChildError(RuntimeError):
    """The program ended or did not become ready; the message holds the end of its log."""


@contextmanager
def running(command: Sequence[str], log: Path, is_ready: Callable[[], bool]) -> Iterator[None]:
    """Run a program until the block ends; its output goes to ``log``.

    Raises ChildError when it ends early or is not ready in time.
    """
    with log.open("wb") as sink:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
    try:
        _wait_until_ready(process, log, is_ready)
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path, is_ready: Callable[[], bool]) -> None:
    end = time.monotonic() + READY_DEADLINE_S
    while not is_ready():
        if process.poll() is not None or time.monotonic() > end:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
            raise ChildError(f"{log.stem} ended or was not ready.\n{tail}")
        time.sleep(0.1)
