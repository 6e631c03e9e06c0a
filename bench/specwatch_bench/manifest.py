"""What a folder of results was made with: versions, machine, matrix, starts."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

_PACKAGES: Final = ("specwatch", "aiohttp", "vllm", "sglang", "tensorrt-llm", "torch", "transformers", "triton")


class Manifest:
    """`manifest.json` of a folder of results; every run adds to it.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._body: dict[str, Any] = {"format": 1, "matrices": {}, "machines": [], "starts": []}
        if path.exists():
            try:
                self._body |= json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                path.replace(path.with_name(path.name + ".torn"))

    def add_matrix(self, name: str, body: Mapping[str, Any]) -> None:
        """What a matrix asks for."""
        self._body["matrices"][name] = dict(body)
        self._write()

    def add_machine(self, body: Mapping[str, Any]) -> None:
        """Where it runs; the same machine is written once."""
        if dict(body) not in self._body["machines"]:
            self._body["machines"].append(dict(body))
            self._write()

    def add_start(self, body: Mapping[str, Any]) -> None:
        """One start of an engine: command, time, outcome."""
        self._body["starts"].append(dict(body))
        self._write()

    def _write(self) -> None:
        part = self._path.with_name(self._path.name + ".part")
        part.write_text(json.dumps(self._body, indent=1) + "\n", encoding="utf-8")
        part.replace(self._path)


def machine(gpu_source: str, gpus: list[list[Any]]) -> dict[str, Any]:
    """Versions and hardware here; the engine's own version comes from the engine."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": os.cpu_count(),
        "processor": _processor(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name)) is not None},
        "gpu_source": gpu_source,
        "gpus": [row[1] for row in gpus],
        "driver": _driver(),
        "interpreter": Path(sys.executable).name,
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str | None:
    return _after(Path("/proc/cpuinfo"), "model name")


def _driver() -> str | None:
    return _after(Path("/proc/driver/nvidia/version"), "NVRM version")


def _after(path: Path, key: str) -> str | None:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)
