"""Make or refresh `.venv` from the hashed lock (`make venv`); runs on the system's own Python.

Debian and Ubuntu split pip's wheel out of Python. Where it is missing it is unpacked from its package
without root, so that nothing has to be installed first.
"""

from __future__ import annotations

import fcntl
import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

from tools.debian_packages import DebianPackageError, DebianPackages

REPOSITORY = Path(__file__).resolve().parents[2]
ENVIRONMENT = REPOSITORY / ".venv"
PIP_PACKAGE = "python3-pip-whl"
NO_PIP = "this Python has no ensurepip; install it with: apt-get install python3-venv"


class VenvError(RuntimeError):
    """The environment could not be made; the message is one line."""


def works(python: Path, module: str) -> bool:
    """Tell whether `python` starts and finds `module`."""
    if not python.exists():
        return False
    done = subprocess.run([str(python), "-c", f"import {module}"], capture_output=True, check=False)
    return done.returncode == 0


def pip_wheel(cache: Path) -> Path:
    """Return the pip wheel that Debian packages beside Python.

    Raises:
        VenvError: it could not be unpacked.
    """
    try:
        DebianPackages(cache / "apt").unpack([PIP_PACKAGE], cache / PIP_PACKAGE)
    except DebianPackageError as error:
        raise VenvError(f"{NO_PIP} ({error})") from error
    wheels = sorted((cache / PIP_PACKAGE).rglob("pip-*.whl"))
    if not wheels:
        raise VenvError(NO_PIP)
    return wheels[-1]


def run(*command: str) -> None:
    """Run one step and let it talk.

    Raises:
        VenvError: it failed.
    """
    done = subprocess.run(command, cwd=REPOSITORY, check=False)
    if done.returncode != 0:
        raise VenvError(f"{' '.join(command[1:4])} failed with exit status {done.returncode}")


def ensure_environment(python: Path, cache: Path) -> None:
    """Make the environment, or leave a working one as it is."""
    if works(python, "pip"):
        return
    print(f"making {ENVIRONMENT.name} with Python {sys.version.split()[0]}", flush=True)
    has_pip = importlib.util.find_spec("ensurepip") is not None
    venv.create(ENVIRONMENT, clear=True, symlinks=True, with_pip=has_pip)
    if not has_pip:
        wheel = pip_wheel(cache)
        run(str(python), f"{wheel}/pip", "install", "-qq", "--no-index", str(wheel))


def install(python: Path) -> None:
    """Install the lock and, editable, this project."""
    print("installing requirements/dev.txt", flush=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    run(*pip, "--require-hashes", "--requirement", "requirements/dev.txt")
    run(*pip, "--no-deps", "--no-build-isolation", "--editable", ".")


def main() -> int:
    """Make the environment; return 1 and one line when that fails."""
    cache = REPOSITORY / ".cache"
    cache.mkdir(exist_ok=True)
    python = ENVIRONMENT / "bin" / "python"
    with (cache / "venv.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            ensure_environment(python, cache)
            install(python)
        except VenvError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
