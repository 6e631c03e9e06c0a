"""History from vLLM's log: one window for each line of speculative counts, at the time of the line.

The line has counts over the engine's logging interval, 10 s unless changed, and is left out while nothing is
drafted. Its own time has no year and no zone: a collector's stamp on the line (Kubernetes, docker, journald) wins.
SGLang's lines are ratios without counts, and V0's were bounds: neither can be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from specwatch_detectors.history import DAY_S, History, HistoryError, chosen_interval, parse_time, spacing
from specwatch_detectors.history_builder import HistoryBuilder
from specwatch_detectors.window import Window, window
from specwatch_exporters.logs import sglang_line, spec_line, startup_line
from specwatch_exporters.logs.read import read_log
from specwatch_exporters.logs.vllm_log import DEFINITION
from specwatch_exporters.report import Report
from specwatch_exporters.report import Window as LogWindow

_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
_OWN: Final = re.compile(r"\b(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)\b")
_HALF_YEAR_S: Final = 180 * DAY_S
_LINES: Final = (*spec_line.MARKERS, sglang_line.DECODE)


def is_log(text: str) -> bool:
    """Whether a text holds an engine's lines."""
    return any(marker in text for marker in _LINES)


def read_log_history(text: str, source: str, year: int, interval_s: float | None = None) -> History:
    """Read a log.

    Args:
        text: the log.
        source: its name, for messages.
        year: year of its last line, where lines do not tell.
        interval_s: seconds of an interval; the log's own spacing if None.

    Raises:
        HistoryError: nothing in it can be judged.
    """
    lines = text.split("\n")
    report = read_log(lines)
    if report is None or not report.windows or report.models[0].definition != DEFINITION:
        raise HistoryError(
            f"{source}: no line of vLLM's with counts of drafts; SGLang's lines are ratios without counts, and "
            "V0's counts are bounds"
        )
    times = _times(lines, year)
    timed = [(times[one.line - 1], one) for one in report.windows if one.line and times[one.line - 1] is not None]
    if not timed:
        raise HistoryError(f"{source}: the lines have no time")
    known = [(at, one) for at, one in timed if at is not None]
    builder = HistoryBuilder(chosen_interval(spacing([[at for at, _ in known[:200]]]), interval_s, source))
    left = _take(builder, known, report.models[0].model)
    _restarts(builder, lines, times, report.models[0].model)
    return builder.build(source, _notes(report, left, dated=_STAMP.search(lines[(known[0][1].line or 1) - 1])))


def _take(builder: HistoryBuilder, timed: Iterable[tuple[float, LogWindow]], model: str) -> int:
    """Take the windows in; returns how many have no certain number of draft steps."""
    left = 0
    for at, one in timed:
        counts = _window(one)
        if counts is None:
            left += 1
            continue
        builder.total(model, one.engine or "", at, counts)
        if one.speculative_tokens:
            builder.fact(model, "K", str(one.speculative_tokens), at)
    return left


def _window(one: LogWindow) -> Window | None:
    own = one.tally
    if own.drafts is None or own.accepted_tokens is None:
        return None
    positions = tuple(value for value in own.accepted_per_position if value is not None)
    if one.partial:
        positions = positions[:1]
    return window(own.drafts, positions, accepted_tokens=own.accepted_tokens, draft_tokens=own.draft_tokens)


def _restarts(builder: HistoryBuilder, lines: Sequence[str], times: Sequence[float | None], model: str) -> None:
    """Every start of an engine after the first line of counts."""
    begun = False
    for line, at in zip(lines, times, strict=True):
        begun |= any(marker in line for marker in spec_line.MARKERS)
        if begun and at is not None and startup_line.VLLM_MARKER in line:
            builder.restart(model, at, "the engine")


def _notes(report: Report, left: int, *, dated: object) -> list[str]:
    notes = [] if dated else ["times are as the log has them: no zone, and the year is the file's"]
    if left:
        notes.append(f"{left} lines whose number of draft steps is not certain were left out")
    if any(notice.code == "lines_not_listed" for notice in report.notices):
        notes.append(f"only the last {len(report.windows)} lines of counts were used")
    if report.models[0].engines > 1:
        notes.append(f"{report.models[0].engines} engines write to this log; their counts were added up")
    return notes


def _times(lines: Sequence[str], year: int) -> list[float | None]:
    """Times of all lines; a year that is not told falls by one where time would run backwards by months."""
    found: list[float | None] = []
    after: float | None = None
    for line in reversed(lines):
        at, sure = _time(line, year)
        if at is not None and not sure:
            while after is not None and at - after > _HALF_YEAR_S and year > 1:
                year -= 1
                at, _ = _time(line, year)
                if at is None:
                    break
        after = after if at is None else at
        found.append(at)
    return found[::-1]


def _time(line: str, year: int) -> tuple[float | None, bool]:
    """The time of a line, and whether it has its year from the line itself."""
    stamp, own = _STAMP.search(line), _OWN.search(line)
    try:
        if stamp is not None:
            return parse_time(stamp[0]), True
        if own is not None:
            month, day, hour, minute, second = map(int, own.groups())
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp(), False
    except ValueError:
        return None, False
    return None, False
