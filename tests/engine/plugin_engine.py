"""Run a real vLLM with the plugin, installed beside it in a folder of its own: its environment stays as it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.engine_process import EngineError, EngineProcess
from engine.setup_vllm import REPOSITORY


def install_plugin(folder: Path) -> Path:
    """Install this repository into a folder of its own; on PYTHONPATH its entry points are found like any other."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    command += ["--no-deps", "--no-build-isolation", "--target", str(folder), str(REPOSITORY)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"the plugin could not be installed: {done.stderr.strip()}")
    return folder


def engine_with_plugin(
    site: Path, log: Path, speculation: Mapping[str, Any] | None = None, extra: Sequence[str] = ()
) -> EngineProcess:
    """Return an engine that finds the plugin in ``site``."""
    return EngineProcess(log, speculation, extra, environment={"PYTHONPATH": str(site)})


def engine_with_timed_plugin(site: Path, log: Path, speculation: Mapping[str, Any], times: Path) -> EngineProcess:
    """Return an engine whose plugin, found in ``site``, writes how long it takes to ``times``."""
    shutil.copy(Path(__file__).with_name("timed_plugin.py"), site)
    metadata = site / "timed_plugin-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: timed-plugin\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[vllm.stat_logger_plugins]\ntimed = timed_plugin:TimedLogger\n")
    environment = {"PYTHONPATH": str(site), "VLLM_PLUGINS": "timed", "SPECWATCH_TIMES": str(times)}
    return EngineProcess(log, speculation, environment=environment)
