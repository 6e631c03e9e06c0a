"""What a sidecar carries in every pod: the command's own modules, and not the work of commands that do not run."""

from __future__ import annotations

import subprocess
import sys

WORK = (
    "specwatch_detectors.calibrate",
    "specwatch_detectors.drift_monitor",
    "specwatch_detectors.explain",
    "specwatch_detectors.fallback",
    "specwatch_exporters.demo",
    "specwatch_exporters.sidecar.watcher",
)


def test_a_command_that_does_not_run_is_not_loaded() -> None:
    command = [sys.executable, "-c", "import sys, specwatch_cli.main; print(*sys.modules)"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "specwatch_cli.proxy" in loaded
    assert [name for name in WORK if name in loaded] == []
