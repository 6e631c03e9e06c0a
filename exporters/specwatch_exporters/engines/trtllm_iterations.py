"""TensorRT-LLM's JSON `/metrics`: iteration statistics since the last read.

Source: `tensorrt_llm/serve/openai_server.py` on main. Reading empties the engine's buffer, so values are
increments, and a second reader steals from the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from specwatch_exporters import catalog
from specwatch_exporters.json_text import decode
from specwatch_exporters.page import UNKNOWN_MODEL, Declared, Key, Page, SeriesId

DEFINITION = "trtllm-iterations"
_MODEL = UNKNOWN_MODEL
# JSON field inside specDecodingStats to the counter that it increments.
_COUNTS = {
    "numRequestsWithDraftTokens": catalog.DRAFTS,
    "numDraftTokens": catalog.DRAFT_TOKENS,
    "numAcceptedTokens": catalog.ACCEPTED_TOKENS,
}


# An object with an iteration's number and one of these is an iteration; excerpts leave the others out.
_MARKERS = frozenset(
    {"iterLatencyMS", "specDecodingStats", "inflightBatchingStats", "kvCacheStats", "numActiveRequests"}
)


def is_iterations(body: Any) -> bool:
    """True for a list (possibly empty) of TensorRT-LLM iteration objects."""
    return isinstance(body, list) and all(_is_iteration(entry) for entry in body)


def saved_iterations(text: str, body: Any) -> list[Mapping[str, Any]] | None:
    """Iterations as people save them.

    Args:
        text: what `/metrics` answered, one iteration of it, JSON lines, or a list of the JSON strings that
            `LLM.get_stats` of some releases gives.
        body: the text decoded, or None if it is not one JSON value.

    Returns:
        The iterations, or None if the text is none of these.
    """
    if body is None and text.lstrip().startswith("{"):
        first, _, rest = text.lstrip().partition("\n")
        if _is_iteration(decode(first)):
            body = [decode(line) for line in (first, *rest.splitlines()) if line.strip()]
    elif isinstance(body, Mapping):
        body = [body]
    if isinstance(body, list):
        body = [decode(entry) if isinstance(entry, str) else entry for entry in body]
    return body if is_iterations(body) else None


def _is_iteration(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "iter" in entry and not _MARKERS.isdisjoint(entry)


def read_iterations(body: Sequence[Mapping[str, Any]]) -> Page:
    """Read one drained batch of iterations, oldest first.

    Args:
        body: the parsed JSON, as `is_iterations` accepts it. Negative and non-numeric counts are left out.

    Returns:
        A page whose counters are increments over the batch; gauges are the last iteration's.
    """
    page = Page("trtllm", "iterations", DEFINITION, drained=True)
    page.note(
        "drained_by_read",
        "Reading this page empties the engine's buffer: no other program may read it, and this reading covers "
        f"{len(body)} iterations only.",
    )
    page.declared[_MODEL] = Declared.UNKNOWN
    if not body:
        page.note(
            "no_spec_series",
            "No iteration: nothing ran since the last read, another program read them, or iteration statistics are "
            "off (enable_iter_perf_stats).",
        )
    for entry in body:
        stats = entry.get("specDecodingStats")
        if isinstance(stats, Mapping):
            page.declared[_MODEL] = Declared.CONFIGURED
            page.speculative.add(_MODEL)
            for name, metric in _COUNTS.items():
                _add(page, metric, stats.get(name))
        _add(page, catalog.ENGINE_STEPS, 1)
    if body:
        _gauges(page, body[-1])
    return page


def iteration_numbers(body: Sequence[Mapping[str, Any]]) -> list[int]:
    """Numbers of the iterations in a batch, ascending; entries without a whole number are left out."""
    return sorted({entry["iter"] for entry in body if isinstance(entry.get("iter"), int)})


def note_gap(page: Page, body: Sequence[Mapping[str, Any]], last: int | None) -> int | None:
    """Note iterations missing within a batch or since the last one read; returns the newest number read.

    Numbers that start again are a restart of the engine, not a gap.
    """
    numbers = iteration_numbers(body)
    if not numbers:
        return last
    follows = last is not None and numbers[0] > last
    chain = [last, *numbers] if follows and last is not None else numbers
    missing = sum(after - before - 1 for before, after in pairwise(chain))
    if missing:
        page.note("drain_gap", f"{missing} iterations are missing: another reader drained them or they overflowed.")
    return numbers[-1]


def _add(page: Page, metric: catalog.Metric, value: Any) -> None:
    number = _number(value)
    if number is None:
        if value is not None:
            page.note("bad_value", f"{metric.name} got {value!r} from an iteration; it was left out.")
        return
    series = SeriesId(metric.name, _MODEL, "0", "", "")
    page.counters[series] = page.counters.get(series, 0.0) + number


def _gauges(page: Page, entry: Mapping[str, Any]) -> None:
    cache = entry.get("kvCacheStats")
    cache = cache if isinstance(cache, Mapping) else {}
    used, total = _number(cache.get("usedNumBlocks")), _number(cache.get("maxNumBlocks"))
    usage = used / total if used is not None and total else None
    values = {
        catalog.RUNNING: _number(entry.get("numActiveRequests")),
        catalog.WAITING: _number(entry.get("numQueuedRequests")),
        catalog.KV_USAGE: usage,
    }
    for metric, value in values.items():
        if value is not None:
            page.gauges[Key(metric.name, _MODEL, "0", "")] = value


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None
