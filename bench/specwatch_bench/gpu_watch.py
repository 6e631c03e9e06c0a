"""GPU use while a cell runs: NVML's numbers, else nvidia-smi's, else none, and which of them is said."""

from __future__ import annotations

import asyncio
import importlib
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, Final

from specwatch_exporters.replay.clock import Clock

FIELDS: Final = ("index", "name", "busy_percent", "memory_mib", "power_w", "clock_mhz")
"""`busy_percent` is the share of time in which any kernel ran, not the share of the GPU that was used."""
_QUERY: Final = "index,name,utilization.gpu,memory.used,power.draw,clocks.sm"
_TIMEOUT: Final = 10.0

Read = Callable[[], list[list[Any]]]


def gpu_reader() -> tuple[str, Read | None]:
    """How to read GPUs here.

    Returns:
        The source's name and a function that gives a row of `FIELDS` per GPU; a reason and None without GPUs.
    """
    nvml = _nvml()
    if nvml is not None:
        return "nvml", nvml
    if shutil.which("nvidia-smi") is None:
        return "none: neither NVML's Python package nor nvidia-smi is here", None
    return "nvidia-smi", _smi


class GpuWatch:
    """Reads now and then, in a thread, until it is cancelled.

    Attributes:
        rows: `[seconds, *FIELDS]` of each reading; seconds as `since` counts them.
    """

    def __init__(
        self, read: Read, since: Callable[[], float], clock: Clock | None = None, every: float = 1.0
    ) -> None:
        self.rows: list[list[Any]] = []
        self._read = read
        self._since = since
        self._clock = clock or Clock()
        self._every = every

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            found = await asyncio.to_thread(self._read)
            moment = round(self._since(), 3)
            self.rows += [[moment, *row] for row in found]
            await self._clock.sleep(self._every)


def _nvml() -> Read | None:
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return None

    def read() -> list[list[Any]]:
        return [_nvml_row(nvml, index, handle) for index, handle in enumerate(handles)]

    return read


def _nvml_row(nvml: Any, index: int, handle: Any) -> list[Any]:
    def ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except nvml.NVMLError:
            return None

    name = ask(lambda: nvml.nvmlDeviceGetName(handle))
    return [
        index,
        name.decode() if isinstance(name, bytes) else name,
        ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
        ask(lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used >> 20),
        ask(lambda: round(nvml.nvmlDeviceGetPowerUsage(handle) / 1000)),
        ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
    ]


def _smi() -> list[list[Any]]:
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603 - fixed
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [[part.strip() for part in line.split(",")] for line in done.stdout.splitlines()]
    return [[int(row[0]), row[1], *map(_number, row[2:])] for row in rows if len(row) == len(FIELDS)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
