"""`kill -9` at every boundary of a life: nothing is lost, nothing is made twice, the end is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from detectors.fallback.controller_rig import FileLever
from specwatch_detectors.fallback.audit_log import AuditLog, read_log
from specwatch_detectors.fallback.transition import same_shares

REPOSITORY = Path(__file__).resolve().parents[3]
ZYGOTE = Path(__file__).with_name("crash_zygote.py")
PARTS = 8
"""Every boundary is tried; each test takes every eighth, so that parts run side by side."""


LIVES: dict[str, set[str]] = {
    "there_and_back": {"start", "intent", "applied", "settled", "done"},
    "undone": {"undo", "undo_applied", "undone"},
    "by_hand": {"operator", "intent", "done"},
    "refused": {"refused", "waiting", "done"},
    "overtaken": {"overtaken", "found"},
}
"""Lives, and the kinds of entries that must occur in them."""
LEAST_CALLS = {"there_and_back": 4, "undone": 4, "by_hand": 5, "refused": 3, "overtaken": 1}


class Zygote:
    """The process that lives are forked from."""

    def __init__(self) -> None:
        path = [str(REPOSITORY / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        self._process = subprocess.Popen(
            [sys.executable, str(ZYGOTE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def live(self, folder: Path, name: str, deadly: int = 0) -> tuple[int, bool]:
        """Boundaries passed until the end or the kill, and whether there was a kill."""
        folder.mkdir()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{folder}\t{deadly}\t{name}\n")
        self._process.stdin.flush()
        passed, killed = self._process.stdout.readline().split()
        return int(passed), killed == "1"

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    running = Zygote()
    yield running
    running.close()


def story(folder: Path) -> list[tuple[str, str]]:
    """All that was decided and done, in order, without the rounds in which nothing was.

    In which round it is found out that somebody else was there, or that a wait has begun, depends on the kill.
    """
    entries = read_log(folder / "fallback.jsonl").entries
    told = [(entry["kind"], entry["words"]) for entry in entries if entry["kind"] != "round"]
    return [(kind, "" if kind in {"overtaken", "advice"} else words) for kind, words in told]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", sorted(LIVES))
def test_a_kill_changes_nothing(tmp_path: Path, zygote: Zygote, name: str, part: int) -> None:
    whole = tmp_path / "whole"
    boundaries, killed = zygote.live(whole, name)
    assert not killed
    calls = FileLever(whole).calls
    assert len(calls) >= LEAST_CALLS[name]
    assert boundaries > 30
    assert LIVES[name] <= {kind for kind, _ in story(whole)}
    for deadly in range(1 + part, boundaries + 1, PARTS):
        folder = tmp_path / str(deadly)
        assert zygote.live(folder, name, deadly) == (deadly, True)
        lever = FileLever(folder)
        assert lever.calls == calls, deadly
        assert same_shares(lever.shares, FileLever(whole).shares), deadly
        assert story(folder) == story(whole), deadly


def test_the_last_entry_is_the_memory_whatever_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = AuditLog(path)
    assert log.open() is None
    log.append({"kind": "one"})
    log.close()
    with path.open("ab") as file:
        file.write(b'{"n":2,"kind":"tw')
    again = AuditLog(path)
    assert again.open() == {"n": 1, "kind": "one"}
    again.append({"kind": "three"})
    again.close()
    found = read_log(path)
    assert [(entry["n"], entry["kind"]) for entry in found.entries] == [(1, "one"), (2, "three")]
    assert found.damaged == 1
