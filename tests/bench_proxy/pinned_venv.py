"""Virtual environments under `.cache/bench-venvs`, one a file of pinned versions beside this one; made once."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from bench_proxy.contender import UnavailableError
from engine.setup_vllm import SetupError, make_environment, only_one, pip_install
from tools.tool_paths import REPOSITORY

HERE = Path(__file__).resolve().parent
FOLDER = REPOSITORY / ".cache" / "bench-venvs"
_DONE = "versions.done"


def provide_venv(name: str, beside: Path = HERE) -> Path:
    """Return the environment with what `<name>.txt` pins, and make it where it is missing or of other versions.

    Args:
        name: of the file without its ending, and of the environment.
        beside: folder of the file.

    Raises:
        UnavailableError: pip could not install it.
    """
    requirements = beside / f"{name}.txt"
    digest = hashlib.sha256(f"{sys.version_info[:2]}".encode() + requirements.read_bytes()).hexdigest()
    folder = FOLDER / name
    with only_one(FOLDER / f"{name}.lock"):
        done = folder / _DONE
        if done.is_file() and done.read_text() == digest:
            return folder
        print(f"{name}: installing {requirements.name}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            make_environment(folder)
            pip_install(folder, "--no-deps", "--requirement", str(requirements))
        except (SetupError, OSError) as error:
            raise UnavailableError(str(error).partition(" (all of it")[0]) from error
        done.write_text(digest)
    return folder


def pinned_version(name: str, distribution: str) -> str:
    """The version of a distribution in `<name>.txt`.

    Raises:
        UnavailableError: the file does not pin it.
    """
    for line in (HERE / f"{name}.txt").read_text().splitlines():
        pinned, _, version = line.partition("==")
        if pinned.partition("[")[0] == distribution:
            return version.split()[0]
    raise UnavailableError(f"{name}.txt does not pin {distribution}")
