"""Arrivals from a file: the public traces of LLM services, or one's own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final

from specwatch_deploy.scale.scale_settings import ScaleError
from specwatch_deploy.scale.simulation.trace_lines import MOST_TOKENS, json_rows
from specwatch_deploy.scale.simulation.traffic import OUTPUT_TOKENS, PROMPT_TOKENS, Trace

TIMES: Final = ("seconds", "timestamp", "time", "arrived_at")
PROMPTS: Final = ("prompt_tokens", "contexttokens", "request tokens", "num_prefill_tokens")
OUTPUTS: Final = ("output_tokens", "generatedtokens", "response tokens", "num_decode_tokens")
MOST_ROWS: Final = 1_000_000
LEAST_SECONDS: Final = 900.0
MOST_SECONDS: Final = 48 * 3600.0
"""Anything longer takes hours to simulate."""


def read_trace(path: Path) -> Trace:
    """Read a trace; times are counted from the first one.

    CSV has a header with a time (`seconds`, `timestamp`, `time` or `arrived_at`: seconds, or a date and time, in
    UTC if it names no zone) and may have tokens (`prompt_tokens`/`ContextTokens`/`Request tokens`,
    `output_tokens`/`GeneratedTokens`/`Response tokens`): so have the Azure LLM inference traces and BurstGPT. A
    file that begins with a brace is JSON lines, as Mooncake's (`trace_lines`).

    Raises:
        ScaleError: it cannot be read, or is no such file; names the line.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = _at_most(_rows(file, path.name), path.name)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text in UTF-8"
        raise ScaleError(f"{path}: {reason}") from error
    rows.sort()
    first = rows[0][0]
    requests = tuple((at - first, prompt, output) for at, prompt, output in rows)
    seconds = requests[-1][0]
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise ScaleError(
            f"{path}: it lasts {seconds:.0f} s; it must be {LEAST_SECONDS:.0f} s to {MOST_SECONDS / 3600:.0f} h"
            f"{'; give a part of it, such as its first lines' if seconds > MOST_SECONDS else ''}"
        )
    mean = len(requests) / seconds
    return Trace(path.name, f"{len(requests)} recorded arrivals", seconds + 1.0, lambda _: mean, requests=requests)


def _at_most(rows: Iterable[tuple[float, int, int]], name: str) -> list[tuple[float, int, int]]:
    found = list(islice(rows, MOST_ROWS + 1))
    if len(found) > MOST_ROWS:
        raise ScaleError(f"{name}: more than {MOST_ROWS} requests; give a part of it, such as its first lines")
    if not found:
        raise ScaleError(f"{name}: no request in it")
    return found


def _rows(lines: Iterator[str], name: str) -> Iterable[tuple[float, int, int]]:
    first = next(lines, "")
    every = chain([first], lines)
    return json_rows(every, name) if first.lstrip().startswith("{") else _csv_rows(csv.reader(every), name)


def _csv_rows(reader: Iterator[list[str]], name: str) -> Iterator[tuple[float, int, int]]:
    header = [column.strip().lower() for column in next(reader, [])]
    places = {kind: _place(header, names) for kind, names in (("at", TIMES), ("in", PROMPTS), ("out", OUTPUTS))}
    if places["at"] is None:
        raise ScaleError(f"{name}: no column of times; one of {', '.join(TIMES)}")
    for number, row in enumerate(reader, 2):
        if row:
            yield _row(row, places, f"{name}, line {number}")


def _place(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _row(row: Sequence[str], places: Mapping[str, int | None], where: str) -> tuple[float, int, int]:
    at = places["at"]
    if at is None or at >= len(row):
        raise ScaleError(f"{where}: no time")
    return (
        _time(row[at].strip(), where),
        _tokens(row, places["in"], PROMPT_TOKENS, where),
        max(1, _tokens(row, places["out"], OUTPUT_TOKENS, where)),
    )


def _time(text: str, where: str) -> float:
    try:
        found = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
            found = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except ValueError as error:
            raise ScaleError(f"{where}: {text!r} is no time in seconds and no date and time") from error
    if not abs(found) < 1e12:
        raise ScaleError(f"{where}: {text!r} is no time")
    return found


def _tokens(row: Sequence[str], place: int | None, usual: int, where: str) -> int:
    if place is None:
        return usual
    text = row[place].strip() if place < len(row) else ""
    if not text.isdecimal() or int(text) > MOST_TOKENS:
        raise ScaleError(f"{where}: {text!r} is no number of tokens")
    return int(text)
