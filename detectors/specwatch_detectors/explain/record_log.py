"""Records of requests from a JSONL file, split at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from specwatch_detectors.explain.record_test import Record
from specwatch_detectors.explain.window_row import LogError, moment


def read_records(path: Path, onset: float) -> tuple[list[Record], list[Record]]:
    """Read records: one JSON object per line with `time`, features as numbers or words, and `request` if grouped.

    Args:
        path: of the file.
        onset: records up to this time, in seconds, are before.

    Returns:
        Those before and those after; features other than numbers and words are left out.

    Raises:
        LogError: the file cannot be read, or a line is no record.
    """
    sides: tuple[list[Record], list[Record]] = ([], [])
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    time, record = _record(line, f"{path}: line {number}")
                    sides[time > onset].append(record)
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise LogError(f"{path}: not UTF-8 text") from error
    return sides


def _record(line: str, where: str) -> tuple[float, Record]:
    try:
        body = json.loads(line)
    except ValueError as error:
        raise LogError(f"{where}: not JSON") from error
    if not isinstance(body, Mapping):
        raise LogError(f"{where}: not an object")
    try:
        time = moment(body.get("time"))
    except LogError as error:
        raise LogError(f"{where}: {error}") from error
    features = {
        str(name): value
        for name, value in body.items()
        if name != "time" and (value is None or isinstance(value, int | float | str))
    }
    return time, features
