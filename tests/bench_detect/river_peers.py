"""River's detectors in an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bench_detect.outcome import Outcome
from bench_detect.plan import HORIZON
from bench_proxy.contender import UnavailableError
from bench_proxy.pinned_venv import provide_venv
from tools.tool_paths import REPOSITORY

HERE: Final = Path(__file__).resolve().parent


def provide_python() -> Path:
    """The Python that has river.

    Raises:
        UnavailableError: it could not be installed.
    """
    return provide_venv("peers", HERE) / "bin" / "python"


def start(python: Path, folder: Path, slow_days: int) -> subprocess.Popen[str]:
    """Begin to run all detectors on the series under a folder."""
    command = [str(python), str(HERE / "river_child.py"), str(folder), str(slow_days), str(HORIZON)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests")}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def collect(child: subprocess.Popen[str]) -> list[Outcome]:
    """What they found, in the order in which they ran.

    Raises:
        UnavailableError: the program failed.
    """
    try:
        text = child.communicate()[0]
    finally:
        child.kill()
    if child.returncode:
        raise UnavailableError(f"river's detectors ended with exit status {child.returncode}")
    return [outcome_of(json.loads(line)) for line in text.splitlines()]


def outcome_of(found: Mapping[str, Any]) -> Outcome:
    """One line of the child as an outcome; with no days where no settings kept the budget."""
    name = f"river {found['detector']}, {found['kind']}"
    if "pages" not in found:
        days = found["tuning_days"]
        return Outcome(name, note=f"no settings tried keep the budget on {days:g} days that it was tuned on")
    delays = {float(ratio): list(values) for ratio, values in found["delays"].items()}
    return Outcome(name, found["days"], found["pages"], delays, found["settings"])
