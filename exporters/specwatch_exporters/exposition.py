"""Exposition text to metric families: prometheus_client's parsers, chosen by what the page is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_classic

from specwatch_exporters.notices import Notice

OPENMETRICS = "application/openmetrics-text"
_EXEMPLAR = re.compile(r"^([^#\n].*?) # \{.*$", re.MULTILINE)


class ExpositionError(ValueError):
    """The text is not a metrics page; the message says where and why, in one line."""


@dataclass(frozen=True, slots=True)
class Exposition:
    """A parsed page.

    Attributes:
        families: as prometheus_client yields them. In the classic format, `_created` gauges are families too.
        openmetrics: True if the page was OpenMetrics.
        notices: what was odd about the text.
    """

    families: tuple[Metric, ...]
    openmetrics: bool
    notices: tuple[Notice, ...] = ()


def parse(text: str, content_type: str = "") -> Exposition:
    """Parse a metrics page.

    The OpenMetrics parser is used if `content_type` says so or the text ends in `# EOF` (vLLM's Rust frontend
    sends OpenMetrics whatever the Accept header, and proxies lose content types). Its strictness is about the
    format, not about the numbers: where it refuses a complete page, such as one with a malformed exemplar, the
    classic parser reads the samples and a notice says so.

    Raises:
        ExpositionError: neither parser reads the text, or an OpenMetrics page lacks its `# EOF`.
    """
    ended = text.rstrip().endswith("# EOF")
    if content_type.startswith(OPENMETRICS) and not ended:
        raise ExpositionError("the page is cut: OpenMetrics without '# EOF' at its end")
    if not ended:
        return _unended(text)
    try:
        return Exposition(tuple(parse_openmetrics(_terminated(text))), openmetrics=True)
    except ValueError as strict:
        families = _classic(_EXEMPLAR.sub(r"\1", text))
        message = f"OpenMetrics page is malformed ({_one_line(strict)}); samples were read without exemplars."
        return Exposition(families, openmetrics=True, notices=(Notice("malformed_page", message),))


def _unended(text: str) -> Exposition:
    """A classic page; if its last line has no end and cannot be read, it is cut off."""
    if not text or text.endswith("\n"):
        return Exposition(_classic(text), openmetrics=False)
    notice = Notice("page_truncated", "The page does not end with a newline: its last line may be cut.")
    try:
        families = _classic(text)
    except ExpositionError:
        if "\n" not in text:
            raise
        families = _classic(text[: text.rfind("\n") + 1])
        notice = Notice("page_truncated", "The page breaks off inside its last line, which was left out.")
    return Exposition(families, openmetrics=False, notices=(notice,))


def _classic(text: str) -> tuple[Metric, ...]:
    try:
        return tuple(parse_classic(text))
    except (ValueError, KeyError, IndexError) as error:
        raise ExpositionError(f"not a metrics page: {_where(text)}") from error


def _where(text: str) -> str:
    """The first line that does not parse, and why; only a page that was refused pays for this."""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            tuple(parse_classic(line + "\n"))
        except (ValueError, KeyError, IndexError) as error:
            why = _one_line(error) or type(error).__name__
            return f"line {number}, {line[:80]!a}: {why}"
    return "its lines do not fit together"


def _terminated(text: str) -> str:
    return text.rstrip() + "\n"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
