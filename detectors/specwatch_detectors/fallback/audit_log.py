"""The audit log: JSON lines, only ever appended to, on the disk before anything is done.

A decision is written before it is carried out and each of its steps after, with the controller's whole memory, so
that the last whole line is where a killed controller goes on. A line that was being written when it was killed is
no line: nothing was done on it. Full files are renamed `FILE.1`, `FILE.2`, …, of which the oldest go.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import IO, Any, Final

MAX_BYTES: Final = 8 * 2**20
KEEP: Final = 12
"""Full files kept: with a round every 30 s about a month."""
LATEST: Final = 253_402_300_800.0
"""Epoch seconds of the year 10000: times from there on cannot be written as dates."""


class AuditError(Exception):
    """The log cannot be read or written, or somebody else writes it; one line says why."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a log holds.

    Attributes:
        entries: whole ones, oldest first.
        damaged: lines that are no entries, or have no time.
    """

    entries: tuple[dict[str, Any], ...]
    damaged: int


class AuditLog:
    """One log, open for writing by one process.

    Args:
        path: of the newest file; its directory must exist.
        max_bytes: size from which a file is full.
        keep: full files kept.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, keep: int = KEEP) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._lock: IO[str] | None = None
        self._file: FileIO | None = None
        self._number = 0
        self._torn = False

    def open(self) -> dict[str, Any] | None:
        """Lock the log and give its last whole entry, or None if it has none.

        Raises:
            AuditError: another process writes it, or it cannot be written.
        """
        try:
            self._take_lock()
            last = _last(self._path, self._keep)
            self._number = 0 if last is None else _number(last)
            self._file = self._path.open("ab", buffering=0)
            self._torn = _unended(self._path)  # its writer was killed: the next line begins anew
            _sync_folder(self._path)
        except OSError as error:
            self.close()
            raise AuditError(f"the audit log {self._path}: {error.strerror or error}") from error
        except AuditError:
            self.close()
            raise
        return last

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry, numbered; it is on the disk when this returns.

        Raises:
            AuditError: it cannot be written.
        """
        if self._file is None:
            raise AuditError(f"the audit log {self._path} is not open")
        line = json.dumps({"n": self._number + 1, **entry}, allow_nan=False, separators=(",", ":"))
        try:
            self._write(line.encode() + b"\n")
            self._number += 1
            if self._file.tell() >= self._max_bytes:
                self._rotate()
        except OSError as error:
            raise AuditError(f"the audit log {self._path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Give the log free; a second call does nothing."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()
        self._file = self._lock = None

    def _take_lock(self) -> None:
        self._lock = self._path.with_name(f"{self._path.name}.lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise AuditError(f"another controller writes {self._path}; two must not move one lever") from error

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        data, self._torn = (b"\n" + data if self._torn else data), True
        self._file.write(data)
        os.fsync(self._file.fileno())
        self._torn = False

    def _rotate(self) -> None:
        """Begin a new file; whatever the moment of a kill, no entry is in none of the files."""
        if self._file is not None:
            self._file.close()
        full = _full(self._path)
        for number in sorted(full, reverse=True):
            if number >= self._keep:
                full[number].unlink()
            else:
                full[number].rename(_numbered(self._path, number + 1))
        self._path.rename(_numbered(self._path, 1))
        self._file = self._path.open("ab", buffering=0)
        _sync_folder(self._path)


def read_log(path: Path) -> Written:
    """All entries of a log, its full files included; a missing log is an empty one.

    Raises:
        AuditError: it cannot be read.
    """
    entries: list[dict[str, Any]] = []
    damaged = 0
    try:
        full = _full(path)
        for part in (*(full[number] for number in sorted(full, reverse=True)), path):
            for entry in _entries(part):
                if entry is None or not 0.0 <= _time(entry) < LATEST:
                    damaged += 1
                else:
                    entries.append(entry)
    except OSError as error:
        raise AuditError(f"the audit log {path}: {error.strerror or error}") from error
    return Written(tuple(entries), damaged)


def _time(entry: Mapping[str, Any]) -> float:
    """Epoch seconds of an entry; not a number if it has none that can be one."""
    at = entry.get("at", 0.0)
    return at if isinstance(at, int | float) else math.nan


def _number(entry: Mapping[str, Any]) -> int:
    number = entry.get("n", 0)
    if not isinstance(number, int):
        raise AuditError(f"the audit log's last entry cannot be gone on from: its number is {number!r}")
    return number


def _last(path: Path, keep: int) -> dict[str, Any] | None:
    full = _full(path)
    for part in (path, *(full[number] for number in sorted(full) if number <= keep)):
        whole = [entry for entry in _entries(part) if entry is not None]
        if whole:
            return whole[-1]
    return None


def _entries(path: Path) -> Iterator[dict[str, Any] | None]:
    """Entries of one file; None for each line that is none."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if not line.strip():
                continue
            try:
                body = json.loads(line)
            except ValueError:
                body = None
            yield body if isinstance(body, dict) else None


def _full(path: Path) -> dict[int, Path]:
    """Full files by number."""
    found = ((part, part.name.removeprefix(f"{path.name}.")) for part in path.parent.glob(f"{path.name}.*"))
    return {int(ending): part for part, ending in found if ending.isdecimal()}


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _unended(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
