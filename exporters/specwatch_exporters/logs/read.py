"""An engine's log to one report, line by line."""

from __future__ import annotations

from collections.abc import Iterable

from specwatch_exporters.logs import engine_line, sglang_line, spec_line, startup_line
from specwatch_exporters.logs.line_text import plain, source_of
from specwatch_exporters.logs.sglang_log import SglangLog
from specwatch_exporters.logs.vllm_log import VllmLog
from specwatch_exporters.report import Report

MAX_LINE = 1_000_000
_MARKERS = (
    *spec_line.MARKERS,
    engine_line.MARKER,
    sglang_line.DECODE,
    sglang_line.PREFILL,
    startup_line.VLLM_MARKER,
    startup_line.SGLANG_MARKER,
)


def read_log(lines: str | Iterable[str]) -> Report | None:
    """Read a log of vLLM or SGLang; other lines in it are passed over.

    Args:
        lines: the log as text or line by line, such as an open file; nothing is kept but the last 20,000 windows.
            Kubernetes and docker prefixes, JSON wrappers, colours and CRLF are undone. If both engines wrote to
            the log, the one with more lines is reported.

    Returns:
        A report, or None if no line of an engine was recognised. TensorRT-LLM logs no acceptance.
    """
    vllm, sglang = VllmLog(), SglangLog()
    for number, raw in enumerate(lines.split("\n") if isinstance(lines, str) else lines, start=1):
        marker = next((mark for mark in _MARKERS if mark in raw), None)
        if marker is not None and len(raw) <= MAX_LINE:
            _take(vllm, sglang, raw, marker, number)
    if not vllm.lines and not sglang.lines:
        return None
    return vllm.report() if vllm.lines >= sglang.lines else sglang.report()


def _take(vllm: VllmLog, sglang: SglangLog, raw: str, marker: str, number: int) -> None:
    line = plain(raw, marker)
    if marker not in line.text:
        return
    if marker in spec_line.MARKERS:
        prefix, _, body = line.text.partition(marker)
        vllm.take_spec(spec_line.parse_spec_line(body), _source(line.place, prefix), number)
    elif marker == engine_line.MARKER:
        load = engine_line.parse_engine_line(line.text)
        vllm.take_engine(load, _source(line.place, load.prefix))
    elif marker in (sglang_line.DECODE, sglang_line.PREFILL):
        batch = sglang_line.parse_sglang_line(line.text)
        if batch is not None:
            sglang.take(batch, _source(line.place, batch.prefix), number)
    else:
        _take_startup(vllm, sglang, line.text)


def _take_startup(vllm: VllmLog, sglang: SglangLog, text: str) -> None:
    own = startup_line.parse_vllm_startup(text)
    if own is not None:
        vllm.take_startup(own)
        return
    other = startup_line.parse_sglang_startup(text)
    if other is not None:
        sglang.take_startup(other)


def _source(place: str, prefix: str) -> str:
    return f"{place} {source_of(prefix)}".strip()
