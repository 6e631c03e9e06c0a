"""Where the programs that `make tools` fetched lie, for the tests that start them."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS_FOLDER = REPOSITORY / ".cache" / "tools"
BIN_FOLDER = TOOLS_FOLDER / "bin"


class ToolMissingError(RuntimeError):
    """A program that a test needs is not there; the message says how to get it."""


def is_program(path: Path) -> bool:
    """Tell whether `path` is a file, or a link to one, that may be executed."""
    return path.is_file() and os.access(path, os.X_OK)


def find_tool(name: str, folder: Path = BIN_FOLDER) -> Path:
    """Return the program `name`, such as `promtool`.

    Raises:
        ToolMissingError: it was not fetched, or what it pointed to is gone.
    """
    path = folder / name
    if not is_program(path):
        raise ToolMissingError(f"{name} is not in .cache/tools/bin; run: make tools")
    return path
