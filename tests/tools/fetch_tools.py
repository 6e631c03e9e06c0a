"""Fetch the programs of the table into `.cache/tools/bin` (`make tools`), or those that are named.

A program on PATH is linked. Any other is fetched once: a run with nothing to do takes a moment. Each
must print its version before it counts as there.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.debian_packages import DebianPackageError, DebianPackages
from tools.helm_wheel import HelmWheelError
from tools.tool_paths import BIN_FOLDER, REPOSITORY, TOOLS_FOLDER, is_program
from tools.tool_sources import Workshop
from tools.tool_table import ON_DEMAND, TOOLS, WELCOME, Tool
from tools.wheel_download import WheelDownloadError

WRAPPER = """\
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" exec "$here/{program}" "$@"
"""


class ToolBrokenError(RuntimeError):
    """A program does not start; the message says what it printed."""


FETCH_ERRORS = (DebianPackageError, HelmWheelError, ToolBrokenError, WheelDownloadError, OSError)


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Wait until no other process fetches, so that two runs of make do not undo each other's work."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def version_line(tool: Tool, program: Path) -> str:
    """Return the first line of the program's version.

    Raises:
        ToolBrokenError: it did not start or exited with an error.
    """
    command = [str(program), *tool.version_arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolBrokenError(f"{program} does not start: {error}") from error
    said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
    if done.returncode != 0:
        raise ToolBrokenError(f"{program} does not start: {said[-1]}")
    return said[0]


def installed(tool: Tool) -> Path | None:
    """Return the machine's own program, if it starts; version managers leave stubs that do not."""
    for name in tool.installed_as:
        path = shutil.which(name)
        if path is None or Path(path).resolve().is_relative_to(TOOLS_FOLDER):
            continue
        with suppress(ToolBrokenError):
            version_line(tool, Path(path))
            return Path(path)
    return None


def link(name: str, program: Path, libraries: Iterable[Path] = ()) -> None:
    """Make `name` in the bin folder start `program`, with its own libraries if it brought any.

    Paths under the tools folder are relative: the folder may be moved.
    """
    BIN_FOLDER.mkdir(parents=True, exist_ok=True)
    inside = program.is_relative_to(TOOLS_FOLDER)
    target = os.path.relpath(program, BIN_FOLDER) if inside else str(program)
    folders = ":".join(f"$here/{os.path.relpath(folder, BIN_FOLDER)}" for folder in libraries)
    fresh = BIN_FOLDER / f".{name}.new"
    fresh.unlink(missing_ok=True)
    if folders:
        fresh.write_text(WRAPPER.format(libraries=folders, program=target))
        fresh.chmod(0o755)
    else:
        fresh.symlink_to(target)
    fresh.replace(BIN_FOLDER / name)


def provide(tool: Tool, workshop: Workshop) -> str:
    """Put one program into the bin folder, unless it is there and unchanged; say where it came from.

    Raises:
        FETCH_ERRORS: it could not be had; nothing that pretends to be it is left.
    """
    noted = TOOLS_FOLDER / "recipes" / tool.name
    recipe = tool.source.recipe(workshop)
    if is_program(BIN_FOLDER / tool.name) and noted.is_file() and noted.read_text() == recipe:
        return "is there"
    origin = link_or_fetch(tool, workshop)
    try:
        version = version_line(tool, BIN_FOLDER / tool.name)
    except ToolBrokenError:
        (BIN_FOLDER / tool.name).unlink()
        raise
    noted.parent.mkdir(exist_ok=True)
    noted.write_text(recipe)
    return f"{origin}: {version}"


def link_or_fetch(tool: Tool, workshop: Workshop) -> str:
    """Link the machine's own program or fetch one; say which."""
    on_path = installed(tool)
    if on_path is not None:
        link(tool.name, on_path)
        return "the machine's own"
    print(f"{tool.name}: fetching", flush=True)
    fetched = tool.source.fetch(workshop)
    link(tool.name, fetched.program, fetched.libraries)
    return "fetched"


def wanted(names: Iterable[str]) -> list[Tool]:
    """The tools of these names, or all that the tests use when none is named.

    Raises:
        KeyError: there is no such tool.
    """
    known = {tool.name: tool for tool in (*TOOLS, *WELCOME, *ON_DEMAND)}
    return [known[name] for name in names] or [*TOOLS, *WELCOME]


def main(names: Iterable[str] = ()) -> int:
    """Fetch what is missing; one line per program that could not be had, and 1 if the tests need it."""
    failures = 0
    with only_one(TOOLS_FOLDER / "lock"):
        debian = DebianPackages(REPOSITORY / ".cache" / "apt")
        workshop = Workshop(debian, REPOSITORY / "requirements" / "tools.txt", TOOLS_FOLDER)
        for tool in wanted(names):
            try:
                print(f"{tool.name}: {provide(tool, workshop)}", flush=True)
            except FETCH_ERRORS as error:
                harm = "not here" if tool in WELCOME else "error"
                print(f"{tool.name}: {harm}: {error}", file=sys.stderr, flush=True)
                failures += tool not in WELCOME
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
