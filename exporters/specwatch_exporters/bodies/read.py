"""Saved responses and streams to one report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.record_report import model_reports, record_notices
from specwatch_exporters.bodies.response import record_from_json
from specwatch_exporters.bodies.sse import SseDecoder, SseOverflowError
from specwatch_exporters.bodies.stream import StreamReading
from specwatch_exporters.bodies.typed_stream import TypedStream, stream_reading
from specwatch_exporters.notices import Notice
from specwatch_exporters.report import Fact, Report

MAX_DAMAGED = 20
_EVENT_STREAM = re.compile(r"\ufeff?\s*(?:data|event|id|retry)?:")
_HEAD = re.compile(r"\A\s*HTTP/[\d.]+ \d{3}.*?\r?\n\r?\n", re.DOTALL)  # as `curl -i` records it
_DATA = re.compile(r"^data:", re.MULTILINE)
_LEFT_OUT = re.compile(r"([\[{])\s*(?:\.\.\.|\u2026)\s*([\]}])")  # as documents shorten a body: "choices": [ ... ]


def is_event_stream(text: str) -> bool:
    """Whether a text is a recorded stream; comments, numbered events and retry times may stand before the data."""
    body = _HEAD.sub("", text, count=1)
    return _EVENT_STREAM.match(body) is not None and _DATA.search(body) is not None


def read_body(text: str) -> Report | None:
    """Read one response, a list of them, JSON lines, or a recorded event stream.

    Args:
        text: the body as saved. A bare `metrics`, `meta_info` or `/perf_metrics` object counts as a response.

    Returns:
        A report whose records are summed per model, or None if the text is none of these.
    """
    body = _HEAD.sub("", text, count=1)
    if is_event_stream(body):
        return _stream(body)
    records, notices = _records(body)
    return _report("response", records, {}, notices) if records else None


def _stream(text: str) -> Report | None:
    decoder = SseDecoder()
    try:
        events = [*decoder.feed(text.encode("utf-8", errors="replace")), *decoder.close()]
    except SseOverflowError as error:
        return Report(None, "stream", notices=(Notice("stream_cut", f"The stream cannot be read: {error}."),))
    reading = stream_reading(events)
    for data in events:
        reading.take(data)
    record = reading.record()
    if record is None:
        return Report(None, "stream", notices=(_cut(reading),)) if reading.failed else None
    facts: dict[str, Fact] = {
        "chunks": reading.chunks,
        "ttft_chunk": reading.first_content,
        "complete": reading.complete,
        "done": reading.done,
    }
    notices = [] if reading.complete and not reading.damaged else [_cut(reading)]
    return _report("stream", [record], facts, notices)


def _cut(reading: StreamReading | TypedStream) -> Notice:
    if reading.failed:
        why = "an error event ended the stream"
    elif reading.damaged:
        why = f"{reading.damaged} events hold no JSON object"
    else:
        why = "no finish reason was seen"
    return Notice("stream_cut", f"The stream is not whole: {why}; what it says so far was used.")


def _records(text: str) -> tuple[list[RequestRecord], list[Notice]]:
    body = _LEFT_OUT.sub(r"\1\2", text.lstrip("\ufeff \t\r\n"))
    if not body.startswith(("{", "[")):
        return [], []
    try:
        return _recognised(_flat(json.loads(body))), []
    except (ValueError, RecursionError):
        return _from_lines(body.split("\n"))


def _from_lines(lines: Iterable[str]) -> tuple[list[RequestRecord], list[Notice]]:
    """JSON lines; what is no JSON is counted and left out."""
    records: list[RequestRecord] = []
    damaged = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            records.extend(_recognised(_flat(json.loads(line))))
        except (ValueError, RecursionError):
            damaged += 1
            if damaged >= MAX_DAMAGED and not records:
                return [], []
    notice = Notice("line_partial", f"{damaged} lines hold no JSON and were left out.")
    return (records, [notice] if damaged else []) if len(records) > damaged else ([], [])


def _flat(value: Any) -> Iterator[Any]:
    """Objects of a list, and of lists in it; an event may stand under `data`, as captures of streams save it."""
    for entry in value if isinstance(value, list) else [value]:
        for one in entry if isinstance(entry, list) else [entry]:
            event = one.get("data") if isinstance(one, dict) else None
            yield event if isinstance(event, dict) else one


def _recognised(bodies: Iterable[Any]) -> list[RequestRecord]:
    return [record for record in map(record_from_json, bodies) if record is not None]


def _report(source: str, records: list[RequestRecord], facts: dict[str, Fact], notices: list[Notice]) -> Report:
    engines = [record.engine for record in records if record.engine is not None]
    return Report(
        engines[0] if engines else None,
        source,
        model_reports(records, facts),
        tuple(sorted({*notices, *record_notices(records)})),
        dialect="request",
    )
