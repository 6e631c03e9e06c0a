"""Debian packages unpacked into a folder, without root and without touching the system.

apt-get reads the system's sources, keys and list of installed packages, and writes only into a folder
of ours; dpkg-deb unpacks. No package is installed and no maintainer script runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

# The hooks that distributions run after `apt-get update` write into the system's own caches.
APT_CONFIGURATION = """\
Dir::State "{folder}/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "{folder}/cache";
Dir::Log "{folder}/log";
APT::Sandbox::User "root";
APT::Get::Show-User-Simulation-Note "false";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""
# Only this suite, from the mirror of the system: its release keys are in Debian's own keyring.
SUITE_CONFIGURATION = """\
Dir::Etc::sourcelist "{folder}/suite.list";
Dir::Etc::sourceparts "-";
"""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
APT_FOLDERS = ("state/lists/partial", "cache/archives/partial", "log")
# One line of a simulated installation: "Inst libnss3 [old] (2:3.87 Debian:12/stable [amd64])".
PLANNED = re.compile(r"^Inst (?P<name>\S+) .*\[(?P<architecture>[a-z0-9-]+)\]\)")
# The C library fits the system's own loader and no other.
SYSTEM_LIBRARIES = frozenset({"libc6", "libc-bin"})

# What apt says after it named the sources that failed.
IGNORED = "W: Some index files failed to download. They have been ignored, or old ones used instead."

Runner = Callable[[Sequence[str], Path], subprocess.CompletedProcess[str]]


class DebianPackageError(RuntimeError):
    """A package could not be found, downloaded or unpacked; the message is one line."""


def run_quietly(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `command` in `folder` with English messages and keep what it prints."""
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def last_line(text: str) -> str:
    """Return the last line of `text` that says something, which is where apt puts its reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


class DebianPackages:
    """The packages that this system's apt sources offer, seen through a private apt state."""

    def __init__(self, folder: Path, run: Runner = run_quietly, suite: str = "") -> None:
        self._folder = folder
        self._run = run
        self._suite = suite
        self._configuration = folder / "apt.conf"
        self._complaint: str | None = None  # what the update said against some source; None before it

    def of_suite(self, suite: str) -> DebianPackages:
        """The packages of another Debian suite, such as `unstable`, from the mirror that this system uses."""
        return DebianPackages(self._folder / suite, self._run, suite)

    def first_offered(self, names: Sequence[str]) -> str:
        """Return the first of `names` that the sources offer.

        Some programs moved into a package of their own: promtool is in `prometheus` up to Debian 12 and
        in `promtool` from Debian 13 on.

        Raises:
            DebianPackageError: none is offered.
        """
        complaint = self._update_once()
        for name in names:
            if re.search(r"Candidate: (?!\(none\))\S", self._apt("apt-cache", "policy", name)):
                return name
        reason = f" (apt-get update: {complaint})" if complaint else ""
        raise DebianPackageError(f"the apt sources do not offer {' or '.join(names)}{reason}")

    def unpack(self, names: Sequence[str], into: Path) -> None:
        """Unpack `names` and the shared libraries that the system lacks for them into `into`.

        Raises:
            DebianPackageError: apt-get or dpkg-deb failed; `into` is then left as it was.
        """
        self._update_once()
        downloads = self._fresh_folder(f"{into.name}.downloads")
        unpacked = self._fresh_folder(f"{into.name}.unpacked")
        self._apt("apt-get", "--quiet", "download", *names, *self._missing_libraries(names), cwd=downloads)
        for archive in sorted(downloads.glob("*.deb")):
            self._check(["dpkg-deb", "--extract", str(archive), str(unpacked)], downloads)
        shutil.rmtree(into, ignore_errors=True)
        into.parent.mkdir(parents=True, exist_ok=True)
        unpacked.rename(into)
        shutil.rmtree(downloads)

    def _suite_source(self) -> str:
        """The line of sources.list for the suite.

        Raises:
            DebianPackageError: this system is not Debian, or has no mirror of it.
        """
        asked = self._check(
            ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(CODENAME)"], self._folder
        )
        found = (line.split() for line in asked.splitlines())
        mirrors = [row[1] for row in found if len(row) == 3 and row[0] == "Debian" and "-" not in row[2]]
        if not mirrors:
            raise DebianPackageError(f"the apt sources have no Debian mirror to ask for {self._suite}")
        signed = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
        return f"deb {signed}{mirrors[0]} {self._suite} main\n"

    def _missing_libraries(self, names: Sequence[str]) -> list[str]:
        """Name the libraries that installing `names` would bring; data, fonts and scripts stay out.

        Another suite's libraries would not fit this system: there, only the package itself is taken.
        """
        if self._suite:
            return []
        plan = self._apt("apt-get", "install", "--simulate", "--no-install-recommends", *names)
        planned = [match for line in plan.splitlines() if (match := PLANNED.match(line))]
        return [
            match["name"]
            for match in planned
            if match["name"].startswith("lib")
            and match["architecture"] != "all"
            and match["name"].partition(":")[0] not in SYSTEM_LIBRARIES.union(names)
        ]

    def _update_once(self) -> str:
        """Fetch the package lists; one unreachable source among several does no harm by itself."""
        if self._complaint is not None:
            return self._complaint
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise DebianPackageError("apt-get and dpkg-deb are not here, so install it by hand")
        for name in APT_FOLDERS:
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        text = APT_CONFIGURATION + (SUITE_CONFIGURATION if self._suite else "")
        self._configuration.write_text(text.format(folder=self._folder.resolve()))
        if self._suite:
            (self._folder / "suite.list").write_text(self._suite_source())
        update = ["apt-get", "-c", str(self._configuration), "--quiet", "update"]
        complaints = self._run(update, self._folder).stderr.replace(IGNORED, "")
        self._complaint = last_line(complaints) if complaints.strip() else ""
        return self._complaint

    def _fresh_folder(self, name: str) -> Path:
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _apt(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        return self._check([program, "-c", str(self._configuration), *arguments], cwd or self._folder)

    def _check(self, command: Sequence[str], folder: Path) -> str:
        done = self._run(command, folder)
        if done.returncode != 0:
            raise DebianPackageError(f"{command[0]} failed: {last_line(done.stderr or done.stdout)}")
        return done.stdout
