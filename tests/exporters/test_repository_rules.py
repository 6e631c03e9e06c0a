"""House rules that no linter knows, checked over every file that git would carry."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE_FOLDERS = ("exporters", "detectors", "alerts", "dashboards", "deploy", "bench", "cli")
MAX_LINES = 350
VAGUE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})

# Brackets around one letter keep a pattern from matching itself.
REGISTRY_HOSTS = re.compile(
    r"py[p]i\.(?:org|python\.org)|python[h]osted\.org|npm[j]s\.(?:org|com)|y[a]rnpkg\.com"
    r"|deb\.[d]ebian\.org|(?:archive|security|ports)\.[u]buntu\.com|proxy\.[g]olang\.org|crates\.[i]o\b"
    r"|conda\.[a]naconda\.org|(?:--|\b)(?:extra-)?[i]ndex-url\s*[= ]\s*\S*://",
    flags=re.IGNORECASE,
)
MACHINE_PATHS = re.compile(r"(?<![\w.:/$}-])/(?:[w]ork/|[r]oot/|[t]mp/|opt/(?:[w]heels|[p]ypi))")
LOCK_LINE = re.compile(
    r"[a-z0-9][a-z0-9._-]*==[\w.!+]+(?: ; [\w\s.'\"<>=!()]+?)?(?: \\)?|    --hash=sha256:[0-9a-f]{64}(?: \\)?"
)


def repository_files() -> list[Path]:
    """Every tracked file, and every new one that is not ignored."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout.decode()
    paths = (REPOSITORY / name for name in listed.split("\0") if name)
    return sorted(path for path in paths if path.is_file())


FILES = repository_files()
MODULES = [
    path for path in FILES if path.suffix == ".py" and path.relative_to(REPOSITORY).parts[0] in PACKAGE_FOLDERS
]


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    content = path.read_bytes()
    if b"\0" not in content:
        yield from enumerate(content.decode(errors="replace").splitlines(), start=1)


def occurrences(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(REPOSITORY)}:{number}: {found.group()}"
        for path in FILES
        for number, line in text_lines(path)
        if (found := pattern.search(line))
    ]


def test_git_lists_the_packages() -> None:
    assert {path.relative_to(REPOSITORY).parts[0] for path in MODULES} == set(PACKAGE_FOLDERS)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (REGISTRY_HOSTS, "https://py" + "pi.org/simple"),
        (REGISTRY_HOSTS, "https://files.python" + "hosted.org/packages/x.whl"),
        (REGISTRY_HOSTS, "--index" + "-url https://example.com/simple"),
        (REGISTRY_HOSTS, "index" + "-url = https://example.com/simple"),
        (REGISTRY_HOSTS, "https://registry.npm" + "js.org/x"),
        (MACHINE_PATHS, "see /wo" + "rk/main"),
        (MACHINE_PATHS, "'/ro" + "ot/.cache'"),
        (MACHINE_PATHS, "--dir=/tm" + "p/x"),
    ],
)
def test_the_patterns_find_what_they_forbid(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


@pytest.mark.parametrize(
    "text", ["https://example.com/work/x", "a/tmp/b", "$HOME/root/", "pypi", "uv --no-emit-index-url"]
)
def test_the_patterns_leave_the_rest_alone(text: str) -> None:
    assert not REGISTRY_HOSTS.search(text)
    assert not MACHINE_PATHS.search(text)


def test_no_file_names_a_package_registry() -> None:
    assert occurrences(REGISTRY_HOSTS) == []


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    assert occurrences(MACHINE_PATHS) == []


def test_no_file_holds_a_left_over_merge_mark() -> None:
    assert occurrences(re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)")) == []


def test_locks_hold_names_versions_markers_and_hashes_only() -> None:
    locks = [path for path in FILES if path.parent.name == "requirements" and path.suffix == ".txt"]
    assert locks
    strange = [
        f"{path.name}:{number}: {line}"
        for path in locks
        for number, line in text_lines(path)
        if not LOCK_LINE.fullmatch(line)
    ]
    assert strange == []


def test_package_modules_are_short() -> None:
    lengths = {str(path.relative_to(REPOSITORY)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_every_package_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(REPOSITORY)) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_python_files_and_their_folders_have_telling_names() -> None:
    vague = [
        str(relative)
        for path in FILES
        if path.suffix == ".py"
        for relative in [path.relative_to(REPOSITORY)]
        if VAGUE_NAMES & set(re.split(r"[/_.-]", str(relative)))
    ]
    assert vague == []


def test_test_files_have_unique_names() -> None:
    tests = [path.name for path in FILES if path.name.startswith("test_") and path.suffix == ".py"]
    assert [name for name, count in Counter(tests).items() if count > 1] == []
