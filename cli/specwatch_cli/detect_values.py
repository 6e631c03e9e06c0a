"""Values that several `specwatch detect` commands take, and files that they write as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from specwatch_cli.errors import UserError
from specwatch_detectors.history import History, HistoryError, parse_time
from specwatch_exporters.sidecar import setting_values


def duration(flag: str, text: str) -> float:
    """Seconds from text such as `10s`.

    Raises:
        UserError: it is no duration, or nothing.
    """
    try:
        seconds = setting_values.duration(text)
    except ValueError as error:
        raise UserError(f"{flag} {text!r}: {error}; write 10s, 5m or 2h", exit_code=2) from error
    if seconds <= 0.0:
        raise UserError(f"{flag} {text!r}: it must be more than nothing", exit_code=2)
    return seconds


def moment(flag: str, text: str | None) -> float | None:
    """Epoch seconds from text, or None for None.

    Raises:
        UserError: it is no time.
    """
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UserError(f"{flag}: {error}", exit_code=2) from error


def part(history: History, model: str | None, start: float | None, end: float | None) -> History:
    """One model or all, from a time to another.

    Raises:
        UserError: there is no such model, or nothing in that time.
    """
    try:
        chosen = history.only(model)
    except HistoryError as error:
        raise UserError(str(error), exit_code=2) from error
    cut = chosen.between(start, end)
    empty = [name for name, own in cut.models.items() if not own.drafts]
    if empty:
        raise UserError(f"no drafts of {', '.join(empty)} between --from and --to in {history.source}", exit_code=2)
    return cut


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Write a text file under another name and put it in place when it is whole.

    Raises:
        UserError: it cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            yield file
        new.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        new.unlink(missing_ok=True)
