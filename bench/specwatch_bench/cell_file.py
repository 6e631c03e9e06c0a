"""A cell's records on disk: JSON lines in gzip, whole or not there, and whether a file is whole.

Lines, each with `kind`: `cell` (what was asked), `page` (the engine's metrics page), `gpu` (samples), `request`
(one each), and `end` last, with the number of requests. `docs/bench.md` has every member.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

FORMAT: Final = 1
"""Of the lines; a reader refuses another."""


def write_cell(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a cell; the file appears whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with gzip.open(part, "wt", encoding="utf-8", compresslevel=6) as sink:
        for line in lines:
            sink.write(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n")
    part.replace(path)


def read_cell(path: Path) -> Iterator[dict[str, Any]]:
    """Read a cell's lines, in order.

    Raises:
        ValueError: it is torn or of another format.
        OSError: it cannot be read.
    """
    last: dict[str, Any] = {}
    try:
        with gzip.open(path, "rt", encoding="utf-8") as source:
            for number, text in enumerate(source):
                last = json.loads(text)
                if not isinstance(last, dict):
                    raise ValueError(f"{path}: line {number + 1} is no object")  # noqa: TRY004 - the file is torn, no type is wrong
                if number == 0 and (last.get("kind"), last.get("format")) != ("cell", FORMAT):
                    raise ValueError(f"{path}: not a cell of format {FORMAT}")
                yield last
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: torn") from error
    if last.get("kind") != "end":
        raise ValueError(f"{path}: torn, its last line is missing")


def outcome_of(path: Path) -> str | None:
    """How a cell ended, from a file that is whole; None when there is none or it is torn."""
    try:
        *_, end = read_cell(path)
    except (ValueError, OSError):
        return None
    return str(end.get("outcome"))
