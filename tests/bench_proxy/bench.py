"""What all parts of a run need: interpreter, cores, folder, and a way to tell how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench_proxy.child import Launch
from bench_proxy.machine import Cores
from tools.tool_paths import REPOSITORY


@dataclass(frozen=True)
class Bench:
    """One run's surroundings.

    Attributes:
        python: the interpreter of stub and load generator.
        cores: who runs where.
        folder: for logs and configurations.
        say: tells a person how far it is.
    """

    python: Path
    cores: Cores
    folder: Path
    say: Callable[[str], None]

    def module(self, name: str, *arguments: str) -> Launch:
        """The command line of a module of this package."""
        command = [str(self.python), "-m", f"bench_proxy.{name}", *arguments]
        return Launch(command, {"PYTHONPATH": str(REPOSITORY / "tests")})


def last_line(log: Path) -> str:
    """The last line of a log that says something, without frames and cut to what fits into a table."""
    lines = [line.strip(" │╭╮╰╯─\t") for line in log.read_text(errors="replace").splitlines()]
    said = [line for line in lines if line]
    return said[-1][:160] if said else "it said nothing"
