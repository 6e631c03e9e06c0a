"""A started engine: a process group of its own, waited for with a limit, stopped with all its children."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp

from specwatch_exporters.replay.clock import Clock

_ASK_EVERY: Final = 0.5
_ASK_TIMEOUT: Final = 5.0
STOP_SECONDS: Final = 12.0
"""What an engine gets to end by itself after SIGINT, before it is killed."""


class EngineStartError(RuntimeError):
    """An engine did not come up; the message is one line, the end of its log is in `last_lines`."""

    def __init__(self, message: str, last_lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.last_lines = tuple(last_lines)


async def is_healthy(url: str, path: str) -> bool:
    """Whether a GET is answered with 200."""
    timeout = aiohttp.ClientTimeout(total=_ASK_TIMEOUT)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url + path) as response:
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


class EngineProcess:
    """One engine process with its children.

    Args:
        command: what to run.
        environment: all its variables.
        log: where its output goes; a start after another is appended.
        clock: source of time.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, clock: Clock | None = None
    ) -> None:
        self._clock = clock or Clock()
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self._began = log.stat().st_size if log.exists() else 0
        with log.open("ab") as sink:
            self._process = subprocess.Popen(  # noqa: S603 - running what the matrix says is the purpose
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Of the process and its group."""
        return self._process.pid

    async def wait_until_healthy(self, url: str, path: str, seconds: float) -> float:
        """Wait for its answer.

        Returns:
            Seconds that it took.

        Raises:
            EngineStartError: it ended, or the time is over.
        """
        began = self._clock.monotonic()
        while not await is_healthy(url, path):
            code = self._process.poll()
            if code is not None:
                raise EngineStartError(f"the engine ended with status {code} while it started", self.last_lines())
            if self._clock.monotonic() - began > seconds:
                raise EngineStartError(f"the engine was not ready after {seconds:.0f} s", self.last_lines())
            await self._clock.sleep(_ASK_EVERY)
        return self._clock.monotonic() - began

    def ended(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    async def stop(self) -> None:
        """Ask it to end, then end whatever is left of its group; safe to call twice."""
        for number, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGTERM, 3.0)):
            self._signal(number)
            if await self._gone(seconds):
                return
        self._signal(signal.SIGKILL)
        await self._gone(STOP_SECONDS)

    def last_lines(self, lines: int = 30) -> list[str]:
        """The end of this start's log."""
        data = self._log.read_bytes()[self._began :]
        return data.decode("utf-8", errors="replace").splitlines()[-lines:]

    async def _gone(self, seconds: float) -> bool:
        end = self._clock.monotonic() + seconds
        while self._alive():
            if self._clock.monotonic() > end:
                return False
            await self._clock.sleep(0.1)
        return True

    def _alive(self) -> bool:
        self._process.poll()
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
