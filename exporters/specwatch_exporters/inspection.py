"""Tell what a source is and read it: a metrics page, iterations, a log, a response, a stream, benchmark runs."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.bench_result import read_bench_result
from specwatch_exporters.bench_rows import read_bench_lines
from specwatch_exporters.bodies.read import is_event_stream, read_body
from specwatch_exporters.comparison_table import comparison_report
from specwatch_exporters.engines.registry import read_page
from specwatch_exporters.engines.sglang_server import read_server
from specwatch_exporters.engines.trtllm_iterations import (
    iteration_numbers,
    note_gap,
    read_iterations,
    saved_iterations,
)
from specwatch_exporters.exposition import ExpositionError, parse
from specwatch_exporters.json_text import decode
from specwatch_exporters.ledger import Increase, Ledger
from specwatch_exporters.logs.read import read_log
from specwatch_exporters.notices import Notice
from specwatch_exporters.offline_counts import read_offline_counts
from specwatch_exporters.page import Page
from specwatch_exporters.page_excerpt import Excerpt, PrometheusError, prometheus_page, quoted_page
from specwatch_exporters.rejection import with_rejections
from specwatch_exporters.report import Report
from specwatch_exporters.runs import read_runs, runs_report
from specwatch_exporters.sidecar.body_decoder import GzipBody
from specwatch_exporters.sidecar.fetch_error import FetchError
from specwatch_exporters.summary import build_models

MAX_BYTES = 512 * 1024 * 1024
_MEASURED = re.compile(r"time to first token|\bttft|\bitl\b|inter[ _-]token|throughput", re.IGNORECASE)
_ITERATION_LINE = re.compile(r"\biter = \d+, (?:global_)?rank = \d+")  # TensorRT-LLM, print_iter_log
_SAMPLE = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? +[-+]?([0-9.][0-9.eE+-]*|Inf|NaN)( +-?[0-9]+)?\s*$")


class InspectionError(ValueError):
    """Nothing can be read from the source; the message is one line that says why and what to do."""


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes to inspect.

    Attributes:
        name: file or URL, for messages.
        data: the bytes, gzip allowed.
        content_type: as a server sent it, or empty.
    """

    name: str
    data: bytes
    content_type: str = ""


def inspect(content: Content, since: Content | None = None, engine: str | None = None) -> Report:
    """Read a source and say what it means.

    Args:
        content: what to read.
        since: an earlier metrics page of the same engine; the report then covers the span between them.
        engine: name of the reader to use instead of the one that recognises the page.

    Raises:
        InspectionError: nothing that is known; or `since` or `engine` do not fit it.
    """
    return with_rejections(_inspect(content, since, engine))


def _inspect(content: Content, since: Content | None, engine: str | None) -> Report:
    text = _text(content)
    body = decode(text) if text.lstrip().startswith(("[", "{")) else None
    iterations = saved_iterations(text, body)
    if iterations is not None:
        if engine not in (None, "trtllm"):
            raise InspectionError(f"{content.name}: these are TensorRT-LLM iterations, not a page of {engine}")
        return _iterations(iterations, content, since)
    # Some of their lines could be samples of a page.
    report = runs_report(read_bench_result(text) or read_offline_counts(text))
    if report is None and (_is_page(content, text) or _prometheus(content, body) is not None):
        return _page_report(content, text, since, engine)
    report = report or _benchmark_json(text, body) or read_server(body) or read_body(text)
    report = report or read_log(io.StringIO(text)) or runs_report(read_offline_counts(text, bare=True))
    if report is None and _excerpt(content, text) is not None:
        return _page_report(content, text, since, engine)
    report = report or comparison_report(text)
    if report is None:
        raise InspectionError(
            f"{content.name}: neither a metrics page nor TensorRT-LLM iterations, an engine log, a response, or "
            "a benchmark's result" + _refusal(text, content)
        )
    if since is not None or engine is not None:
        option = "--since" if since is not None else "--engine"
        found = "a benchmark's result" if report.source == "runs" else f"a {report.source}"
        raise InspectionError(f"{content.name}: {option} is for metrics pages, and this is {found}")
    return report


def _benchmark_json(text: str, body: Any) -> Report | None:
    if body is None:
        return runs_report(read_bench_lines(text)) if text.lstrip().startswith("{") else None
    return read_runs(body)


def _refusal(text: str, content: Content) -> str:
    """Why a text that comes from an engine cannot be read; empty if it does not."""
    if _ITERATION_LINE.search(text):
        return "; TensorRT-LLM's lines of iterations name no acceptance: its /metrics and /prometheus/metrics do"
    if not re.search(r"^(# (TYPE|HELP) )?(ray_)?(vllm|sglang|trtllm)[:_]", text, re.MULTILINE):
        return "; specwatch bench import may read it" if _MEASURED.search(text) else ""
    try:
        parse(text, content.content_type)
    except ExpositionError as error:
        return f"; {error}"
    return ""


def _page_report(content: Content, text: str, since: Content | None, engine: str | None) -> Report:
    page = _read(content, text, engine)
    ledger = Ledger()
    if since is None:
        page.notices += page.lifetime_notices
        increase = ledger.update(page)
    else:
        earlier = _read(since, _text(since), engine)
        _check_pair(earlier, page, since.name, content.name)
        ledger.update(earlier)
        increase = ledger.update(page)
        _note_span(page, earlier, increase, since.name)
    models = build_models(page, increase.by_key)
    if engine is not None and not models:
        page.note("no_engine", f"Nothing on the page belongs to {engine}.")
    return Report(page.engine, "page", tuple(models), tuple(sorted(page.notices)), increase.restarts, page.dialect)


def _check_pair(earlier: Page, page: Page, earlier_name: str, name: str) -> None:
    """Refuse two pages that cannot be an earlier and a later one of the same engine."""
    if earlier.engine != page.engine:
        raise InspectionError(
            f"{earlier_name} is a page of {earlier.engine}, {name} of {page.engine}: not one engine"
        )
    same = {instance for instance, start in page.starts.items() if earlier.starts.get(instance) == start}
    fallen = [
        series
        for series, value in page.counters.items()
        if series.engine.rpartition("/")[0] in same and value < earlier.counters.get(series, 0.0)
    ]
    older = any(start < earlier.starts.get(instance, start) for instance, start in page.starts.items())
    rose = any(value > earlier.counters.get(series, value) for series, value in page.counters.items())
    if older or (not rose and any(not series.metric.endswith("_sum") for series in fallen)):
        raise InspectionError(f"{earlier_name} is later than {name}: swap the two pages")


def _note_span(page: Page, earlier: Page, increase: Increase, earlier_name: str) -> None:
    for engine in sorted(increase.restarted):
        page.note("reset", f"Engine {engine} started again since {earlier_name}: it is counted from zero.")
    for series in increase.held:
        page.note("sum_decreased", f"{series.metric} went down without a restart; its mean is unknown.")
    for model in sorted({*page.models()} ^ {*earlier.models()}):
        which = "is new since" if model in page.models() else "was only in"
        page.note("models_differ", f"{model} {which} {earlier_name}; what is new counts from zero.")


def _read(content: Content, text: str, engine: str | None) -> Page:
    answer = _prometheus(content, decode(text)) if text.lstrip().startswith("{") else None
    if answer is not None:
        return read_page(parse(answer.text), engine)
    try:
        page = read_page(parse(text, content.content_type), engine)
        excerpt = _excerpt(content, text) if page.engine is None else None
    except ExpositionError as error:
        excerpt = _excerpt(content, text)
        if excerpt is None:
            raise InspectionError(f"{content.name}: {error}") from error
    if excerpt is None:
        return page
    page = read_page(parse(excerpt.text), engine)
    for notice in excerpt.notices:
        page.note(notice.code, notice.message)
    return page


def _excerpt(content: Content, text: str) -> Excerpt | None:
    """A page that was quoted; what a server sent is never taken for one."""
    return None if content.content_type else quoted_page(text)


def _prometheus(content: Content, body: Any) -> Excerpt | None:
    try:
        return prometheus_page(body)
    except PrometheusError as error:
        raise InspectionError(f"{content.name}: {error}") from error


def _iterations(body: Any, content: Content, since: Content | None) -> Report:
    page = read_iterations(body)
    last, restarts = None, 0
    if since is not None:
        before_text = _text(since)
        earlier = saved_iterations(before_text, decode(before_text))
        if earlier is None:
            raise InspectionError(f"{since.name}: --since needs an earlier read of the same kind as {content.name}")
        before, after = iteration_numbers(earlier), iteration_numbers(body)
        last = before[-1] if before else None
        restarts = int(bool(before and after and after[0] <= before[-1]))
    note_gap(page, body, last)
    models = build_models(page, Ledger().update(page).by_key)
    return Report("trtllm", "iterations", tuple(models), tuple(sorted(page.notices)), restarts, page.dialect)


def _is_page(content: Content, text: str) -> bool:
    """A page has a sample or a TYPE line among its first lines that are not blank."""
    if is_event_stream(text):
        return False
    if content.content_type.startswith("application/openmetrics-text"):
        return True
    head = [line for line in text[:20_000].splitlines() if line.strip()][:50]
    return any(line.startswith(("# HELP ", "# TYPE ", "# EOF")) or _SAMPLE.match(line) for line in head)


def _text(content: Content) -> str:
    data = content.data
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(content)
    if not data.strip():
        raise InspectionError(f"{content.name}: empty")
    coding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"  # a Windows shell's redirection
    text = data.decode(coding, errors="replace").removeprefix("\ufeff")
    if re.match(r"\s*(<!doctype|<html)", text, re.IGNORECASE):
        raise InspectionError(f"{content.name}: an HTML page, not metrics; is this the right port and path?")
    if "\x00" in text[:1000]:
        raise InspectionError(f"{content.name}: binary data; expected text or gzip")
    return text


def _gunzip(content: Content) -> bytes:
    decoder = GzipBody(MAX_BYTES)
    try:
        decoder.feed(content.data)
        return decoder.finish()
    except FetchError as error:
        raise InspectionError(f"{content.name}: gzip cannot be read: {error.message}") from error


def unidentified(report: Report) -> Notice | None:
    """The notice that no engine was recognised, if that is all there is to say."""
    if report.models:
        return None
    return next((notice for notice in report.notices if notice.code == "no_engine"), None)
