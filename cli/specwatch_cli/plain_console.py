"""Where tables go: a terminal as wide as it is, a pipe or file as wide as the table."""

from __future__ import annotations

import os
from typing import Final

from rich.console import Console

_PIPED: Final = 240


def plain_console() -> Console:
    """A console on the standard output; names are not broken into lines where nobody set a width."""
    console = Console()
    return console if console.is_terminal or os.environ.get("COLUMNS") else Console(width=_PIPED)
