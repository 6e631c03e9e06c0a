"""Records of single requests, for the design effect: one JSON object per line with drafts and accepted tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from specwatch_detectors.history import HistoryError
from specwatch_exporters.json_text import decode

Records = dict[str, list[tuple[float, float]]]
"""(drafts, accepted tokens) by traffic class; the empty name is all requests."""

ALL: Final = ""


def read_records(lines: Iterable[str], source: str, model: str | None = None) -> Records:
    """Read records.

    Args:
        lines: JSON objects with `drafts` and `accepted`; `class` and `model` where known.
        source: name of the file, for messages.
        model: only requests of this model, and those that name none.

    Raises:
        HistoryError: a line is wrong; the message has its number.
    """
    found: Records = {ALL: []}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{source}: line {number}"
        body = decode(line)
        if not isinstance(body, dict):
            raise HistoryError(f"{where}: not a JSON object")
        if model is not None and body.get("model", model) != model:
            continue
        pair = _count(body, "drafts", where), _count(body, "accepted", where)
        found[ALL].append(pair)
        name = body.get("class")
        if isinstance(name, str) and name:
            found.setdefault(name, []).append(pair)
    return found


def _count(body: Mapping[str, Any], name: str, where: str) -> float:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
        raise HistoryError(f"{where}: {name!r} must be a count, got {value!r}")
    return float(value)
