"""Tell what a source is and read it: a metrics page, iterations, a log, a response, a stream, benchmark rows."""

from __future__ import annotations

import io
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any

from specwatch_exporters.bodies.read import read_body
from specwatch_exporters.engines.registry import read_page
from specwatch_exporters.engines.trtllm_iterations import is_iterations, last_iteration, read_iterations
from specwatch_exporters.exposition import ExpositionError, parse
from specwatch_exporters.ledger import Increase, Ledger
from specwatch_exporters.logs.read import read_log
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import Page
from specwatch_exporters.report import Report
from specwatch_exporters.runs import read_runs
from specwatch_exporters.summary import build_models

MAX_BYTES = 512 * 1024 * 1024
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
        InspectionError: neither page, iterations, log, response nor stream; or `since` is not a metrics page.
    """
    text = _text(content)
    body = _json(text)
    if is_iterations(body):
        return _iterations(body, content, since)
    if since is not None or engine is not None or _is_page(text, content.content_type):
        return _page_report(content, text, since, engine)
    report = read_runs(body) or read_body(text) or read_log(io.StringIO(text))
    if report is None:
        raise InspectionError(
            f"{content.name}: neither a metrics page nor TensorRT-LLM iterations, an engine log, or a response"
        )
    return report


def _page_report(content: Content, text: str, since: Content | None, engine: str | None) -> Report:
    page = _read(content, text, engine)
    ledger = Ledger()
    if since is not None:
        ledger.update(_read(since, _text(since), engine))
    increase = ledger.update(page)
    if since is not None:
        _note_span(page, increase, since.name)
    models = build_models(page, increase.by_key)
    notices = tuple(sorted(page.notices))
    return Report(page.engine, "page", tuple(models), notices, increase.restarts, page.dialect)


def _note_span(page: Page, increase: Increase, earlier: str) -> None:
    for model, rank in sorted(increase.restarted):
        page.note("reset", f"{model}, engine {rank}: counters are lower than in {earlier}; the engine restarted.")
    for series in increase.held:
        page.note("sum_decreased", f"{series.metric} went down without a restart; its increase was held at 0.")


def _read(content: Content, text: str, engine: str | None) -> Page:
    try:
        return read_page(parse(text, content.content_type), engine)
    except ExpositionError as error:
        raise InspectionError(f"{content.name}: {error}") from error


def _iterations(body: Any, content: Content, since: Content | None) -> Report:
    page = read_iterations(body)
    if since is not None:
        earlier = _json(_text(since))
        if not is_iterations(earlier):
            raise InspectionError(f"{since.name}: --since needs an earlier read of the same kind as {content.name}")
        before, after = last_iteration(earlier), min((entry["iter"] for entry in body), default=None)
        if before is not None and after is not None and after > before + 1:
            page.note("drain_gap", f"{after - before - 1} iterations between the two reads went to another reader.")
    models = build_models(page, Ledger().update(page).by_key)
    return Report("trtllm", "iterations", tuple(models), tuple(sorted(page.notices)), 0, page.dialect)


def _is_page(text: str, content_type: str) -> bool:
    """A page has a sample or a TYPE line among its first lines that are not blank."""
    if content_type.startswith("application/openmetrics-text"):
        return True
    head = [line for line in text[:20_000].splitlines() if line.strip()][:50]
    return any(line.startswith(("# HELP ", "# TYPE ", "# EOF")) or _SAMPLE.match(line) for line in head)


def _text(content: Content) -> str:
    data = content.data
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(content)
    if not data.strip():
        raise InspectionError(f"{content.name}: empty")
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    if re.match(r"\s*(<!doctype|<html)", text, re.IGNORECASE):
        raise InspectionError(f"{content.name}: an HTML page, not metrics; is this the right port and path?")
    if "\x00" in text[:1000]:
        raise InspectionError(f"{content.name}: binary data; expected text or gzip")
    return text


def _gunzip(content: Content) -> bytes:
    decoder = zlib.decompressobj(wbits=31)
    try:
        data = decoder.decompress(content.data, MAX_BYTES)
    except zlib.error as error:
        raise InspectionError(f"{content.name}: damaged gzip ({error})") from error
    if decoder.unconsumed_tail:
        raise InspectionError(f"{content.name}: more than {MAX_BYTES >> 20} MiB after decompression")
    if not decoder.eof:
        raise InspectionError(f"{content.name}: gzip data is cut")
    return data


def _json(text: str) -> Any:
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def unidentified(report: Report) -> Notice | None:
    """The notice that no engine was recognised, if that is all there is to say."""
    if report.engine is not None or report.models:
        return None
    return next((notice for notice in report.notices if notice.code == "no_engine"), None)
