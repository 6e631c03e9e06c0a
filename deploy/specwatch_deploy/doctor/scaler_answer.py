"""A saved answer of Prometheus beside the scaler that asked: what KEDA takes it for.

Source: KEDA 2.20 `pkg/scalers/prometheus_scaler.go`: no element, a list of several, NaN and Inf.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.finding import Finding, Place, Severity, found
from specwatch_deploy.doctor.inputs import Inputs
from specwatch_deploy.doctor.scaler_trigger import takes_null_as_zero, triggers_of

_PATH: Final = ("data", "result")
_ZERO: Final = "KEDA takes it for 0 (ignoreNullValues is true unless it is set) and scales to the minimum"
_ERROR: Final = 'with ignoreNullValues: "false" that is an error: the replicas stay, or the fallback holds'


def is_answer(document: Document) -> bool:
    """Whether a document is what Prometheus answers to an instant query."""
    body = document.body
    return isinstance(body, Mapping) and body.get("status") in {"success", "error"} and _whole(document)


def _whole(document: Document) -> bool:
    return isinstance(document.at(*_PATH), list) or document.at("status") == "error"


def answers(inputs: Inputs) -> Iterator[Finding]:
    """Answers that stand for no number; said once for every answer, for the triggers that were given with it."""
    metas = [meta for document in inputs.documents for _, meta, _ in triggers_of(document)]
    as_zero = any(map(takes_null_as_zero, metas)) or not metas
    for document in filter(is_answer, inputs.documents):
        problem = _problem(document)
        if problem and document.at("status") == "success":
            null = "elements" not in problem
            does = _ZERO if null and as_zero else (_ERROR if null else "KEDA takes one element: the trigger fails")
            severity = Severity.ERROR if null and as_zero else Severity.WARNING
            yield found("scaler-answer", _place(document), f"{problem}: {does}", severity=severity)


def _place(document: Document) -> Place:
    """Where the result stands; JSON has no lines but those of its text."""
    at = document.text.find('"result"')
    line = document.text.count("\n", 0, at) + 1 if at >= 0 else document.line(*_PATH)
    return Place(document.file, line, document.part)


def _problem(document: Document) -> str:
    """What is wrong with an answer; empty for one element with a number."""
    rows: Any = document.at(*_PATH)
    if document.at("data", "resultType") != "vector":
        return ""
    if not rows:
        return "the answer is empty"
    if len(rows) > 1:
        return f"the answer has {len(rows)} elements"
    value = rows[0].get("value") if isinstance(rows[0], Mapping) else None
    try:
        number = float(str(value[1])) if isinstance(value, list) and len(value) > 1 else 0.0
    except ValueError:
        return ""
    return "" if math.isfinite(number) else f"the answer is {value[1] if isinstance(value, list) else value}"
