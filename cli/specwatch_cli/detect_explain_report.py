"""From files and options to an explanation with its hints."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specwatch_cli.errors import UserError
from specwatch_detectors.explain.event import Event
from specwatch_detectors.explain.evidence import Evidence
from specwatch_detectors.explain.explanation import Explanation, explain
from specwatch_detectors.explain.gathering import gather, series_of
from specwatch_detectors.explain.odd_shape import OddShapeError, judge_shape
from specwatch_detectors.explain.record_log import read_records
from specwatch_detectors.explain.record_test import RecordTestError, compare_records
from specwatch_detectors.explain.window_log import WindowLog, read_event, read_log
from specwatch_detectors.explain.window_row import LogError, moment


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, as the command line gave it."""

    file: Path
    at: str | None
    until: str | None
    events: tuple[str, ...]
    records: Path | None
    odd_shape: bool
    design: float | None
    model: str


@dataclass(frozen=True, slots=True)
class Report:
    """The answer, what it was made of, and hints by name, each with `words`."""

    explanation: Explanation
    evidence: Evidence
    hints: dict[str, dict[str, Any]]


def answer(question: Question) -> Report:
    """Read the files and explain.

    Raises:
        UserError: a file, a time or an event cannot be used, or scikit-learn is missing for a hint.
    """
    try:
        log = _log(question)
        evidence = gather(log, None if question.at is None else moment(question.at), question.design)
        hints = _hints(question, log, evidence)
    except (LogError, RecordTestError, OddShapeError) as error:
        message, name = str(error), str(question.file)
        raise UserError(message if name in message else f"{name}: {message}", exit_code=2) from error
    return Report(explain(evidence), evidence, hints)


def as_json(report: Report) -> str:
    """The report as JSON text."""
    facts = {"onset": report.evidence.onset, "design": report.evidence.design, "hints": report.hints}
    return json.dumps({**report.explanation.as_json(), **facts}, indent=1, allow_nan=False)


def _log(question: Question) -> WindowLog:
    log = read_log(question.file, question.model)
    given = tuple(_event(text) for text in question.events)
    if given:
        log = replace(log, events=(*(log.events or ()), *given))
    if question.until is None:
        return log
    last = moment(question.until)
    rows = tuple(row for row in log.rows if row.time <= last)
    if not rows:
        raise LogError(f"no windows up to {question.until}")
    return replace(log, rows=rows)


def _event(text: str) -> Event:
    kind, _, time = text.partition("=")
    return read_event({"kind": kind.strip(), "time": time.strip()})


def _hints(question: Question, log: WindowLog, evidence: Evidence) -> dict[str, dict[str, Any]]:
    onset = evidence.onset or 0.0
    found: dict[str, dict[str, Any]] = {}
    if question.records is not None:
        test = compare_records(*read_records(question.records, onset))
        found["records"] = {**test.as_json(), "words": test.words}
    if question.odd_shape:
        series = series_of(log.rows)
        pairs = list(zip(series.times, series.windows, strict=True))
        shape = judge_shape([w for time, w in pairs if time <= onset], [w for time, w in pairs if time > onset])
        found["odd_shape"] = {"odd": shape.odd, "share": shape.share, "words": shape.words}
    return found
