"""One wheel of `requirements/tools.txt`, downloaded by pip and checked against its hash."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path


class WheelDownloadError(RuntimeError):
    """The wheel is not in the lock, or pip could not get it; the message is one line."""


def locked_requirement(distribution: str, lock: str) -> str:
    """Return the part of the lock's text that pins `distribution`, its hashes included.

    Raises:
        WheelDownloadError: the lock does not pin it.
    """
    found = re.search(rf"^{re.escape(distribution)}==(?:.*\\\n)*.*\n?", lock, flags=re.MULTILINE)
    if found is None:
        raise WheelDownloadError(f"the lock does not pin {distribution}; run: make lock")
    return found.group()


def download_wheel(distribution: str, lock: Path, into: Path) -> Path:
    """Download the pinned wheel of `distribution` into the folder `into` and return its path.

    Raises:
        WheelDownloadError: pip failed or its hash differs from the lock's.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(locked_requirement(distribution, lock.read_text()))
        requirements.flush()
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary=:all:", "--require-hashes"]
        command += ["--requirement", requirements.name, "--dest", str(into)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    wheels = sorted(into.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = errors[-1].removeprefix("ERROR: ") if errors else f"exit status {done.returncode}"
        raise WheelDownloadError(f"pip could not download {distribution}: {reason}")
    return wheels[0]
