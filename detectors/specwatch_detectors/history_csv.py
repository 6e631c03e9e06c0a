"""History from a CSV file.

One row per interval, and per model, class and pod where there are several. Columns, in any order:

    time             end of the interval: epoch seconds, or ISO 8601 (UTC unless it says otherwise)
    model            optional; `model` if absent
    class            optional; traffic class, empty for all traffic
    pod              optional
    drafts           draft steps in the interval
    accepted_1 ...   drafts whose first 1, 2, ... tokens were accepted; or, for engines without positions:
    accepted         accepted tokens in all; without accepted_1 it needs k or draft_tokens, which tell the depth
    draft_tokens     optional; tokens proposed, tells drafts shorter than K
    drafted_1 ...    optional; tokens proposed at each position
    k                optional; draft tokens per draft
    version, method  optional; of the engine
    target, draft    optional; names or versions of the models: a deploy shows as a change

Counters work too: with `drafts_total`, `accepted_1_total`, ... values only grow, and increases are taken per model,
class and pod; a value that falls is a restart. Rows of classes without a row of all traffic add up to it. Lines
that begin with # are notes.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from specwatch_detectors.history import (
    FACTS,
    History,
    HistoryError,
    chosen_interval,
    parse_time,
    silence,
    spacing,
)
from specwatch_detectors.history_builder import HistoryBuilder
from specwatch_detectors.window import Window, window

_COUNT: Final = re.compile(r"(drafts|accepted|draft_tokens|(?:accepted|drafted)_([1-9]\d?))(_total)?")
_FACTS: Final = {name.lower(): name for name in FACTS}
_WORDS: Final = frozenset({"time", "model", "class", "pod", *_FACTS})
_COLUMNS: Final = (
    "columns are time, model, class, pod, drafts, accepted_1 and so on, accepted, draft_tokens, drafted_1 and so "
    "on, k, version, method, target, draft (docs/detect.md)"
)
_MAX_NOTES: Final = 5
_MOST: Final = 1e300
"""Largest count: sums of many stay finite."""
DEFAULT_MODEL: Final = "model"


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the file."""

    line: int
    at: float
    stream: tuple[str, str, str]
    words: Mapping[str, str]
    counts: Mapping[str, float]


def read_csv(lines: Iterable[str], source: str, interval_s: float | None = None) -> History:
    """Read a history.

    Args:
        lines: of the file.
        source: its name, for messages.
        interval_s: seconds of an interval; the file's own spacing if None.

    Raises:
        HistoryError: a column or a line is wrong; the message has its number.
    """
    notes: list[str] = []
    reader = csv.reader(_uncommented(lines, notes))
    filled = ((reader.line_num, fields) for fields in reader if any(map(str.strip, fields)))
    try:
        line, header = next(filled)
        header = [name.strip().lower() for name in header]
        totals = _check_header(header, f"{source}: line {line}")
        rows = [_row(fields, header, line, source) for line, fields in filled]
    except StopIteration:
        empty = "no data row, only notes or blank lines" if reader.line_num else "the file is empty"
        raise HistoryError(f"{source}: {empty}") from None
    except csv.Error as error:
        raise HistoryError(f"{source}: line {reader.line_num}: {error}") from error
    if not rows:
        raise HistoryError(f"{source}: no data row after the columns in line {line}")
    _check_depth(rows, source)
    chosen = chosen_interval(spacing(_times(rows)), interval_s, source)
    builder = HistoryBuilder(chosen)
    rows.sort(key=lambda row: row.at)
    used = _grown(rows, builder, silence(chosen)) if totals else _checked(rows, source)
    for row in used:
        _take(row, builder, source)
    return builder.build(source, notes[:_MAX_NOTES])


def _uncommented(lines: Iterable[str], notes: list[str]) -> Iterator[str]:
    """The lines, empty where they are comments, which become notes."""
    for line in lines:
        if line.startswith("#"):
            notes.append(line.lstrip("# ").rstrip())
            yield ""
        else:
            yield line


def _times(rows: list[_Row]) -> list[list[float]]:
    """Times of each stream."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        found.setdefault(row.stream, []).append(row.at)
    return list(found.values())


def _check_header(header: list[str], where: str) -> bool:
    """Check the columns; returns whether counts are totals that only grow."""
    if not any(name in _WORDS or _COUNT.fullmatch(name) for name in header):
        raise HistoryError(f"{where}: no CSV of draft counts, no column has a known name; {_COLUMNS}")
    if "time" not in header:
        raise HistoryError(f"{where}: no column 'time'; the columns are {', '.join(header)[:200]}")
    for name in header:
        if name and header.count(name) > 1:
            raise HistoryError(f"{where}: column {name!r} appears twice")
        if name and name not in _WORDS and not _COUNT.fullmatch(name):
            raise HistoryError(f"{where}: unknown column {name!r}; {_COLUMNS}")
    counts = [found for found in map(_COUNT.fullmatch, header) if found]
    totals = {found.group(3) is not None for found in counts}
    if len(totals) > 1:
        raise HistoryError(f"{where}: columns with and without _total cannot be mixed")
    bases = {found.group(1) for found in counts}
    _check_counts(bases, header, where)
    return True in totals


def _check_counts(bases: set[str], header: list[str], where: str) -> None:
    """The counts that a row cannot do without; `bases` are their columns without `_total`."""
    if "drafts" not in bases:
        raise HistoryError(f"{where}: no column 'drafts' (or 'drafts_total')")
    positions = any(base.startswith("accepted_") for base in bases)
    if not positions and "accepted" not in bases:
        raise HistoryError(f"{where}: no column 'accepted_1' and none 'accepted'")
    if not positions and "draft_tokens" not in bases and "k" not in header:
        raise HistoryError(f"{where}: no column 'k' or 'draft_tokens'; without 'accepted_1', 'accepted' needs one")
    for prefix in ("accepted", "drafted"):
        depth = sum(base.startswith(f"{prefix}_") for base in bases)
        missing = [j for j in range(1, depth + 1) if f"{prefix}_{j}" not in bases]
        if missing:
            raise HistoryError(f"{where}: no column '{prefix}_{missing[0]}', but later positions")


def _check_depth(rows: list[_Row], source: str) -> None:
    """Some row of each model must tell how many tokens a draft has; it is not guessed."""
    known = {row.stream[0] for row in rows if _tells_depth(row)}
    for row in rows:
        if row.counts["drafts"] and row.stream[0] not in known:
            raise HistoryError(
                f"{source}: line {row.line}: no row of {row.stream[0]!r} has a value of"
                " 'accepted_1', 'k' or 'draft_tokens': the depth of its drafts is unknown"
            )


def _tells_depth(row: _Row) -> bool:
    return "accepted_1" in row.counts or "draft_tokens" in row.counts or bool(row.words.get("k"))


def _row(fields: list[str], header: list[str], line: int, source: str) -> _Row:
    where = f"{source}: line {line}"
    if len(fields) != len(header):
        raise HistoryError(f"{where}: {len(fields)} fields, but {len(header)} columns")
    words, counts = {}, {}
    for name, field in zip(header, map(str.strip, fields), strict=True):
        if name in _WORDS:
            words[name] = field
        elif name and field:
            counts[name.removesuffix("_total")] = _number(field, name, where)
    try:
        at = parse_time(words["time"])
    except ValueError as error:
        raise HistoryError(f"{where}: {error}") from error
    if "drafts" not in counts:
        raise HistoryError(f"{where}: no number of drafts")
    if words.get("k") and not words["k"].isdecimal():
        raise HistoryError(f"{where}: k is {words['k']!r}, not a whole number")
    stream = (words.get("model") or DEFAULT_MODEL, words.get("class", ""), words.get("pod", ""))
    return _Row(line, at, stream, words, counts)


def _number(text: str, name: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise HistoryError(f"{where}: {name} is {text!r}, not a number") from None
    if not 0.0 <= value <= _MOST:
        raise HistoryError(f"{where}: {name} is {text}; counts are finite, not negative and at most {_MOST:g}")
    return value


def _checked(rows: list[_Row], source: str) -> list[_Row]:
    """Rows of increases, each stream and time once."""
    seen: dict[tuple[tuple[str, str, str], float], int] = {}
    for row in rows:
        first = seen.setdefault((row.stream, row.at), row.line)
        if first != row.line:
            raise HistoryError(f"{source}: line {row.line}: the same time, model, class and pod as line {first}")
    return rows


def _grown(rows: list[_Row], builder: HistoryBuilder, silence_s: float) -> list[_Row]:
    """Increases of totals per stream: one that falls restarts all of its stream; long silences are left out."""
    last: dict[tuple[str, str, str], _Row] = {}
    found = []
    for row in rows:
        before = last.get(row.stream)
        if before is not None and row.at <= before.at:
            continue
        last[row.stream] = row
        if before is None:
            continue
        earlier = before.counts
        if any(value < earlier.get(name, 0.0) for name, value in row.counts.items()):
            earlier = {}
            if not row.stream[1]:
                builder.restart(row.stream[0], row.at, f"counters{_of(row.stream[2])}")
        if row.at - before.at <= silence_s:
            counts = {name: value - earlier.get(name, 0.0) for name, value in row.counts.items()}
            found.append(_Row(row.line, row.at, row.stream, row.words, counts))
    return found


def _of(pod: str) -> str:
    return f" of {pod}" if pod else ""


def _take(row: _Row, builder: HistoryBuilder, source: str) -> None:
    model, name, pod = row.stream
    window = _window(row, source)
    if name:
        builder.of_class(model, name, row.at, window)
    else:
        builder.total(model, pod, row.at, window)
    for column, what in _FACTS.items():
        if row.words.get(column):
            builder.fact(model, what, row.words[column], row.at)
    drafts, tokens = row.counts["drafts"], row.counts.get("draft_tokens")
    if drafts and tokens and not row.words.get("k"):
        builder.depth(model, math.ceil(tokens / drafts - 0.02))


def _window(row: _Row, source: str) -> Window:
    counts = row.counts
    accepted = _positions(counts, "accepted")
    total = counts.get("accepted", sum(accepted))
    drafts, tokens = counts["drafts"], counts.get("draft_tokens")
    where = f"{source}: line {row.line}"
    if any(value > 1.01 * drafts + 16 for value in accepted):
        raise HistoryError(f"{where}: more drafts accepted at a position than there were drafts")
    for position, (earlier, later) in enumerate(pairwise(accepted), start=1):
        if later > 1.01 * earlier + 16:
            raise HistoryError(
                f"{where}: accepted_{position + 1} is {later:g}, more than accepted_{position} ({earlier:g})"
            )
    if tokens is not None and total > 1.01 * tokens + 16:
        raise HistoryError(f"{where}: {total:g} tokens accepted of {tokens:g} proposed")
    return window(
        drafts, accepted, accepted_tokens=total, draft_tokens=tokens, drafted=_positions(counts, "drafted")
    )


def _positions(counts: Mapping[str, float], prefix: str) -> tuple[float, ...]:
    """Positions up to the first that the row leaves empty."""
    found: list[float] = []
    while (value := counts.get(f"{prefix}_{len(found) + 1}")) is not None:
        found.append(value)
    return tuple(found)
