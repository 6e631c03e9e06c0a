"""Windows and events from a file: JSON, or CSV with one row per interval and group (`window_row.py`).

JSON is a list of such objects, or {"windows": [...], "events": [{"time", "kind", "was", "now"}], "engine",
"method", "adaptive"}. Lines of a CSV file that begin with # are notes. Where `version`, `method`, `target`,
`draft`, `k` or `uptime_s` are given, their changes are events too.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.explain.evidence import Dimension
from specwatch_detectors.explain.row_changes import changes
from specwatch_detectors.explain.window_row import LogError, Row, moment, read_row
from specwatch_detectors.history_log import is_log

MAX_BYTES: Final = 256 << 20
_FORM: Final = 'windows come as CSV, a JSON list, or {"windows": [...]}, each with time, drafts and accepted tokens'
_DUMP: Final = f"this is an answer of Prometheus, which 'specwatch detect replay' reads and explains; here {_FORM}"
_LOG: Final = f"this is an engine's log, which 'specwatch detect replay' reads and explains; here {_FORM}"


@dataclass(frozen=True, slots=True)
class WindowLog:
    """What a file held, rows in order of time.

    Attributes:
        rows: at least one.
        events: None if the file says nothing of events.
        engine: or empty.
        method: or empty.
        adaptive: the engine adapts its depth by itself; None if the file does not say.
    """

    rows: tuple[Row, ...]
    events: tuple[Event, ...] | None = None
    engine: str = ""
    method: str = ""
    adaptive: bool | None = None


def read_log(path: Path, model: str = "") -> WindowLog:
    """Read a file of windows.

    Args:
        path: of the file.
        model: which one, if there are several.

    Raises:
        LogError: it cannot be read, is too large, a row is not a window, or there are several models.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise LogError(f"{path}: larger than {MAX_BYTES >> 20} MiB; give a shorter span")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise LogError(f"{path}: not UTF-8 text") from error
    if is_log(text):
        raise LogError(f"{path}: {_LOG}")
    try:
        return _completed(_parsed(text), model)
    except LogError as error:
        raise LogError(f"{path}: {error}") from error


def _completed(log: WindowLog, model: str) -> WindowLog:
    """One model, the total told from its classes, and what changed."""
    names = sorted({row.model for row in log.rows})
    if len(names) > 1 and not model:
        raise LogError(f"several models: {', '.join(names)}; choose one with --model")
    rows = tuple(row for row in log.rows if not model or row.model == model)
    if not rows:
        raise LogError(f"no windows of model {model}; there are {', '.join(names)}")
    seen = changes(rows)
    events = None if log.events is None and seen is None else (*(log.events or ()), *(seen or ()))
    methods = [row.facts["method"] for row in rows if "method" in row.facts]
    method = log.method or (methods[-1] if methods else "")
    return replace(log, rows=_without_doubles(rows), events=events, method=method)


def _without_doubles(rows: Sequence[Row]) -> tuple[Row, ...]:
    """A row without a class beside rows with one is all of them: the others are not counted again."""

    def key(row: Row) -> tuple[float, str]:
        return row.time, row.groups.get(Dimension.POD, "")

    whole = {key(row) for row in rows if not row.canary and Dimension.CLASS not in row.groups}
    return tuple(
        replace(row, counted=False) if Dimension.CLASS in row.groups and key(row) in whole else row for row in rows
    )


def _parsed(text: str) -> WindowLog:
    if text.lstrip()[:1] not in {"[", "{"}:
        return WindowLog(_rows(_csv_rows(text)))
    try:
        body = json.loads(text)
    except ValueError as error:
        raise LogError(f"not JSON: {error}") from error
    if isinstance(body, list) and any(isinstance(row, dict) and "data" in row for row in body):
        raise LogError(_DUMP)
    return WindowLog(_rows(_numbered(body))) if isinstance(body, list) else _from_object(body)


def _csv_rows(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Rows with their line; one that is cut is refused, because what it lacks would count as nothing."""
    reader = csv.reader("" if line.startswith("#") else line for line in text.splitlines())
    header: list[str] | None = None
    for fields in reader:
        if not fields:
            continue
        if header is None:
            header = [name.strip() for name in fields]
        elif len(fields) != len(header):
            raise LogError(f"line {reader.line_num}: {len(fields)} fields, but {len(header)} columns")
        else:
            yield f"line {reader.line_num}", dict(zip(header, fields, strict=True))


def _numbered(raw: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"row {number}", row) for number, row in enumerate(raw, start=1))


def _from_object(body: Mapping[str, Any]) -> WindowLog:
    if "windows" not in body:
        raise LogError(_DUMP if "data" in body else f"no windows; {_FORM}")
    adaptive = body.get("adaptive")
    given = None if body.get("events") is None else tuple(read_event(row) for row in _list(body, "events"))
    return WindowLog(
        _rows(_numbered(_list(body, "windows"))),
        given,
        str(body.get("engine") or ""),
        str(body.get("method") or ""),
        adaptive if isinstance(adaptive, bool) else None,
    )


def _list(body: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = body.get(key)
    if not isinstance(found, list):
        raise LogError(f"{key} must be a list")
    return found


def _rows(raw: Iterable[tuple[str, Any]]) -> tuple[Row, ...]:
    """Rows, each given with what to call it."""
    found = []
    for name, row in raw:
        try:
            if not isinstance(row, Mapping):
                raise LogError("not an object")
            found.append(read_row(row))
        except ValueError as error:
            raise LogError(f"{name}: {error}") from error
    if not found:
        raise LogError("no windows in it")
    return tuple(sorted(found, key=lambda row: row.time))


def read_event(raw: object) -> Event:
    """An event from an object with `time` and `kind`, and `was` and `now` where known.

    Raises:
        LogError: it is none.
    """
    if not isinstance(raw, Mapping):
        raise LogError("an event is an object with time and kind")
    try:
        kind = EventKind(str(raw.get("kind")))
    except ValueError as error:
        kinds = ", ".join(kind.value for kind in EventKind)
        raise LogError(f"event kind {raw.get('kind')!r}; it must be one of {kinds}") from error
    return Event(kind, moment(raw.get("time")), str(raw.get("was") or ""), str(raw.get("now") or ""))
