"""Start, stop, kill and restart a real vLLM server on the CPU, on a port of its own on loopback."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine.setup_vllm import DEFAULT_FOLDER, DONE, REPOSITORY, library_path

MODELS = REPOSITORY / ".cache" / "tiny-models"
MODEL_NAME = "tiny-llama"
START_DEADLINE_S = 300.0
STOP_DEADLINE_S = 20.0
INSTALL_LINE = ".venv/bin/python tests/engine/setup_vllm.py"

CPU_ENVIRONMENT = {
    "VLLM_TARGET_DEVICE": "cpu",  # without it vLLM does not find out what it runs on
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
ENGINE_ARGUMENTS = ("--enforce-eager", "--max-model-len", "1024", "--max-num-seqs", "16")


class EngineError(RuntimeError):
    """The engine is not installed, did not start, or died; the message holds the end of its log."""


def vllm_python() -> Path:
    """Return the interpreter of the engine's environment; raises EngineError with the install line."""
    python = DEFAULT_FOLDER / "bin" / "python"
    if not (DEFAULT_FOLDER / DONE).is_file():
        raise EngineError(f"the real vLLM is not installed; run: {INSTALL_LINE}")
    return python


def free_port() -> int:
    """Return a free port of 127.0.0.1 below those that the kernel gives to outgoing connections.

    An engine binds its port half a minute after it is chosen, and binds it again after a restart.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def http_status(url: str, timeout: float = 2.0) -> int | None:
    """Return the status of a GET, or None when nothing answers."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            status: int = response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None
    return status


class EngineProcess:
    """One ``vllm serve`` with the tiny target model; a context manager that leaves nothing running.

    ``speculative_config`` goes to ``--speculative-config`` as JSON, and turns on detailed per-request records;
    None serves without speculation. ``extra`` arguments and ``environment`` are added to the ones the CPU needs.
    The log of all starts is in ``log``.
    """

    def __init__(
        self,
        log: Path,
        speculative_config: Mapping[str, Any] | None = None,
        extra: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._arguments = [*self._fixed_arguments(), *speculation_arguments(speculative_config), *extra]
        libraries = {"LD_LIBRARY_PATH": library_path(DEFAULT_FOLDER)}
        self._environment = {**os.environ, **libraries, **CPU_ENVIRONMENT, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def _fixed_arguments(self) -> list[str]:
        serve = ["-m", "vllm.entrypoints.cli.main", "serve", str(MODELS / "target")]
        names = ["--served-model-name", MODEL_NAME, "--host", "127.0.0.1", "--port", str(self.port)]
        return [*serve, *names, *ENGINE_ARGUMENTS, "--enable-per-request-metrics"]

    def _launch(self) -> None:
        command = [str(vllm_python()), *self._arguments]
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + START_DEADLINE_S
        while http_status(f"{self.url}/health") != 200:
            if self._process is None or self._process.poll() is not None:
                raise EngineError(f"vLLM ended while it started.\n{self.log_tail()}")
            if time.monotonic() > end:
                raise EngineError(f"vLLM was not ready after {START_DEADLINE_S:.0f} s.\n{self.log_tail()}")
            time.sleep(0.5)

    def start(self) -> None:
        """Start the process and wait until it serves; when it does not, nothing of it is left."""
        self._launch()
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End the engine and its workers at once, as a crash does: nothing is finished or flushed."""
        self._signal_group(signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        """Ask the engine to end, then end whatever of its process group is left."""
        process = self._process
        if process is None:
            return
        self._signal_group(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):  # the kill below ends it then
            process.wait(STOP_DEADLINE_S)
        self.kill()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the engine's processes for the time of the block: its port is open and nothing answers."""
        self._signal_group(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal_group(signal.SIGCONT)

    def restart(self) -> None:
        """Kill the engine if it runs, and start it again on the same port."""
        self.kill()
        self.start()

    def log_tail(self, lines: int = 40) -> str:
        """Return the end of the engine's log."""
        if not self.log.is_file():
            return "(no log)"
        text = self.log.read_text(errors="replace").splitlines()
        return "\n".join(text[-lines:])

    def _signal_group(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return

    def _reap(self) -> None:
        """Wait for the process, and until no member of its group holds the port any more."""
        process, self._process = self._process, None
        if process is None:
            return
        process.wait(STOP_DEADLINE_S)
        end = time.monotonic() + STOP_DEADLINE_S
        while group_is_alive(process.pid) and time.monotonic() < end:
            time.sleep(0.05)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def speculation_arguments(config: Mapping[str, Any] | None) -> list[str]:
    """Return the command-line arguments for one speculative configuration, or none for None."""
    if config is None:
        return []
    return ["--speculative-config", json.dumps(config), "--per-request-spec-decode-metrics", "detailed"]


def group_is_alive(group: int) -> bool:
    """Tell whether any process of the group still exists."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
