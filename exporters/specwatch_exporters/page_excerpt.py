"""Pages as people quote them: fenced, indented, between other lines, in a table, or as Prometheus answers.

Only what was saved by hand is read so. What an engine serves must be a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families as parse_classic

from specwatch_exporters.dumped_page import dumped_page
from specwatch_exporters.notices import Notice

_ENGINE = re.compile(r"(?:ray_)?vllm[:_]|sglang[:_]|trtllm_|dynamo_")
# Quotation marks of mail, lists, tables and grep -n before a sample, and of tables behind it.
_BEFORE = re.compile(r"^(?:[>|*`_\s]|- |\d+[:-])*")
_BEHIND = re.compile(r"[|`*_\s]*$")
# What stands between a series and its value in Prometheus's web page (| or tab) and in promtool (=> 22 @[time]).
_SAMPLE = re.compile(
    r"(?P<series>[a-zA-Z_:][a-zA-Z0-9_:]*(?:\s*\{.*\})?)\s*(?:\||=>|\s)\s*"
    r"(?P<value>[-+]?(?:[0-9.][0-9.eE+-]*|Inf|NaN))(?:\s+@\[?[0-9.]+\]?|\s+[0-9]+)?"
)
_COMMENT = re.compile(r"# (?:TYPE|HELP) \S+ .*")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class PrometheusError(ValueError):
    """Prometheus's answer holds no page; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A page made of an excerpt.

    Attributes:
        text: in the classic format.
        notices: what was left out.
    """

    text: str
    notices: tuple[Notice, ...] = ()


def quoted_page(text: str) -> Excerpt | None:
    """The samples among the lines of a text, or None if no engine's is among them."""
    dumped = dumped_page(text)
    if dumped is not None:
        return Excerpt(dumped)
    kept: list[str] = []
    left = 0
    for raw in text.splitlines():
        if line := _BEHIND.sub("", _BEFORE.sub("", raw, count=1)):
            clean = _clean(line)
            kept += [] if clean is None else [clean]
            left += clean is None and not line.startswith("# EOF")
    if not any(_ENGINE.match(line) for line in kept):
        return None
    lines = "1 line is no sample and was" if left == 1 else f"{left} lines are no samples and were"
    notice = Notice("malformed_page", f"{lines} left out: this is an excerpt, and what it lacks is unknown.")
    return Excerpt("\n".join(kept) + "\n", (notice,) if left else ())


def _clean(line: str) -> str | None:
    """A sample or a comment on its family as the classic format has it, or None."""
    if _COMMENT.fullmatch(line):
        return line
    found = _SAMPLE.fullmatch(line)
    if found is None:
        return None
    sample = f"{found['series']} {found['value']}"
    try:
        return sample if tuple(parse_classic(sample + "\n")) else None
    except (ValueError, KeyError, IndexError):
        return None


def prometheus_page(body: Any) -> Excerpt | None:
    """The page behind what Prometheus's `/api/v1/query` answered: its latest values.

    Args:
        body: the decoded JSON.

    Returns:
        The page, or None if this is no answer of Prometheus.

    Raises:
        PrometheusError: an error, a range, or no series with a name.
    """
    if not isinstance(body, dict) or body.get("status") not in ("success", "error"):
        return None
    if body["status"] == "error":
        raise PrometheusError(f"Prometheus answered with an error: {body.get('error', 'unknown')}")
    data = body.get("data")
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(result, list):
        return None
    if data.get("resultType") == "matrix":
        raise PrometheusError("these are values over time; specwatch detect replay reads them")
    if not result:
        raise PrometheusError("Prometheus answered with no series: nothing is known, which is not 0")
    lines = list(_answered(result))
    if not lines:
        raise PrometheusError(
            "the result has no metric names: ask for the series themselves, not for rates or sums"
        )
    return Excerpt("\n".join(lines) + "\n")


def _answered(result: Iterable[Any]) -> Iterator[str]:
    for one in result:
        metric, value = (one.get("metric"), one.get("value")) if isinstance(one, dict) else (None, None)
        if isinstance(metric, Mapping) and isinstance(value, list) and metric.get("__name__"):
            labels = ",".join(
                f'{name}="{str(text).translate(_ESCAPES)}"' for name, text in metric.items() if name != "__name__"
            )
            yield f"{metric['__name__']}{{{labels}}} {value[-1]}"
