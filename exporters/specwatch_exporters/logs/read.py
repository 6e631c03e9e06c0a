"""An engine's log to one report, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.record_report import model_reports, record_notices
from specwatch_exporters.logs import engine_line, finish_line, llamacpp_line, sglang_line, spec_line, startup_line
from specwatch_exporters.logs.line_text import plain, source_of
from specwatch_exporters.logs.llamacpp_log import LlamaCppLog
from specwatch_exporters.logs.sglang_log import SglangLog
from specwatch_exporters.logs.vllm_log import VllmLog
from specwatch_exporters.logs.wrapped_line import unwrapped
from specwatch_exporters.report import Report

MAX_LINE = 1_000_000
MAX_RECORDS = 100_000
_MARKERS = (
    finish_line.MARKER,  # before the others: the answer's text stands in its line
    *spec_line.MARKERS,
    engine_line.MARKER,
    sglang_line.DECODE,
    sglang_line.PREFILL,
    sglang_line.ADAPTIVE,
    startup_line.VLLM_MARKER,
    startup_line.SGLANG_MARKER,
    *llamacpp_line.REQUEST_MARKERS,
    llamacpp_line.TOTAL_MARKER,
)


@dataclass(slots=True)
class _Logs:
    """What each kind of line goes to."""

    vllm: VllmLog = field(default_factory=VllmLog)
    sglang: SglangLog = field(default_factory=SglangLog)
    llamacpp: LlamaCppLog = field(default_factory=LlamaCppLog)
    finished: list[RequestRecord] = field(default_factory=list)


def read_log(lines: str | Iterable[str]) -> Report | None:
    """Read a log of vLLM, SGLang or llama.cpp's server; other lines in it are passed over.

    Args:
        lines: the log as text or line by line, such as an open file; nothing is kept but the last 20,000 windows.
            Kubernetes and docker prefixes, JSON wrappers, colours and CRLF are undone, and lines of counts that
            were wrapped are put together. If both engines wrote to the log, the one with more lines is reported.
            SGLang's lines of finished requests are summed if it has no others.

    Returns:
        A report, or None if no line of an engine was recognised. TensorRT-LLM logs no acceptance.
    """
    logs = _Logs()
    for number, raw in unwrapped(lines.split("\n") if isinstance(lines, str) else lines, _MARKERS):
        marker = next((mark for mark in _MARKERS if mark in raw), None)
        if marker is not None and len(raw) <= MAX_LINE:
            _take(logs, raw, marker, number)
    if logs.finished and not logs.vllm.lines and not logs.sglang.batches:
        return _requests(logs.finished)
    if not logs.vllm.lines and not logs.sglang.lines:
        return logs.llamacpp.report() if logs.llamacpp.lines else None
    return logs.vllm.report() if logs.vllm.lines >= logs.sglang.lines else logs.sglang.report()


def _requests(records: list[RequestRecord]) -> Report:
    notices = tuple(sorted({*record_notices(records)}))
    return Report("sglang", "log", model_reports(records, {}), notices, dialect="requests")


def _take(logs: _Logs, raw: str, marker: str, number: int) -> None:
    line = plain(raw, marker)
    if marker not in line.text:
        return
    if marker == finish_line.MARKER:
        record = finish_line.parse_finish_line(line.text)
        if record is not None and len(logs.finished) < MAX_RECORDS:
            logs.finished.append(record)
    elif marker in spec_line.MARKERS:
        prefix, _, body = line.text.partition(marker)
        logs.vllm.take_spec(spec_line.parse_spec_line(body), _source(line.place, prefix), number)
    elif marker == engine_line.MARKER:
        load = engine_line.parse_engine_line(line.text)
        logs.vllm.take_engine(load, _source(line.place, load.prefix))
    elif marker in (sglang_line.DECODE, sglang_line.PREFILL):
        batch = sglang_line.parse_sglang_line(line.text)
        if batch is not None:
            logs.sglang.take(batch, _source(line.place, batch.prefix), number)
    elif marker == sglang_line.ADAPTIVE:
        logs.sglang.take_adaptive()
    elif marker in (*llamacpp_line.REQUEST_MARKERS, llamacpp_line.TOTAL_MARKER):
        _take_llamacpp(logs, line.text, marker, number)
    else:
        _take_startup(logs, line.text)


def _take_llamacpp(logs: _Logs, text: str, marker: str, number: int) -> None:
    if marker == llamacpp_line.TOTAL_MARKER:
        logs.llamacpp.take_total(llamacpp_line.parse_total_line(text), number)
    else:
        logs.llamacpp.take_request(llamacpp_line.parse_request_line(text), number)


def _take_startup(logs: _Logs, text: str) -> None:
    own = startup_line.parse_vllm_startup(text)
    if own is not None:
        logs.vllm.take_startup(own)
        return
    other = startup_line.parse_sglang_startup(text)
    if other is not None:
        logs.sglang.take_startup(other)


def _source(place: str, prefix: str) -> str:
    return f"{place} {source_of(prefix)}".strip()
