"""Limits of the parameters: what lies outside would switch an alert off, or on for good, without saying so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from specwatch_alerts.durations import seconds_of

_DAY: Final = 86_400.0
# A page needs 14.4 times the budget; with a smaller target that is more than every request.
_LEAST_TARGET: Final = 0.94
# Least and most; the most itself is allowed only where a rule can still be true there.
_NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "draft.collapsed_per_draft": (0.001, 10),
    "draft.drop_ratio": (0.01, 0.999),
    "draft.idle_tax": (0.0001, 1),
    "draft.sick_share": (0.001, 1),
    "engine.restarts_per_hour": (1, 100),
    "fallback.dead_after_seconds": (30, 21_600),
    "gpu.busy_percent": (0.1, 99),
    "queue.kv_usage": (0.01, 0.999),
    "queue.oldest_seconds": (0.1, _DAY),
}
_BY_LAST_PART: Final[Mapping[str, tuple[float, float]]] = {"min_bad": (1, 1e6), "min_events": (1, 1e9)}
# Windows are five minutes at least and hold four scrapes; recorded samples are looked for five minutes back.
_DURATIONS: Final[Mapping[str, tuple[float, float]]] = {
    "timing.scrape_interval": (0.001, 75),
    "timing.evaluation_interval": (0.001, 120),
    "engine.down_for": (30, 3_600),
    "engine.load_time": (60, _DAY),
    "memory.baseline": (_DAY, 30 * _DAY),
    "memory.controller": (3_600, 30 * _DAY),
    "memory.demand": (600, 30 * _DAY),
    "memory.gate": (3_600, 30 * _DAY),
    "memory.model": (600, 30 * _DAY),
}
_PATTERNS: Final = frozenset(
    {
        "scope.namespaces",
        "scope.models",
        "scope.workloads",
        "draft.expected_models",
        "engine.containers",
        "queue.patient_classes",
        "scaler.objects",
    }
)


# What Python's regular expressions have and Prometheus' (RE2) do not.
_NOT_RE2: Final = re.compile(r"\(\?(?:[=!>(#]|<[=!]|P[=>])|\\[1-9]|[*+?}]\+")
_WORD: Final = re.compile(r"[^\s\"\\{}]+")


def fault_of(name: str, value: Any) -> str | None:
    """What is wrong with a parameter, in one line that names it; None if a rule can work with it.

    Args:
        name: dotted name, such as `queue.kv_usage`.
        value: of the kind that the parameter has.
    """
    if name in _PATTERNS:
        return _pattern_fault(name, value)
    if name in _DURATIONS:
        return _duration_fault(name, value)
    if name.startswith("links."):
        return _link_fault(name, value)
    if isinstance(value, int | float):
        return _number_fault(name, value)
    return None


def severity_fault(severities: Mapping[str, str]) -> str | None:
    """What is wrong with the names of the severities: routes and inhibitions tell alerts apart by them."""
    for name, text in severities.items():
        if not text.strip():
            return f"severities.{name} is empty; it must be a text"
        if not _WORD.fullmatch(text):
            return f"severities.{name} is {text!r}; it must be one word, without quotes and braces"
    if len(set(severities.values())) < len(severities):
        return "severities must differ from each other: alerts are routed by them"
    return None


def _pattern_fault(name: str, value: str) -> str | None:
    try:
        re.compile(value)
    except re.error as error:
        return f"{name} is not a regular expression: {error}"
    if _NOT_RE2.search(value):
        return f"{name}: Prometheus' regular expressions have no look-around, back-references or possessive repeats"
    return None


def _link_fault(name: str, value: str) -> str | None:
    if re.match(r"https?://[^/\s]+", value) and "{{" not in value and not re.search(r"\s", value):
        return None
    return f"{name} is {value!r}; write it as https://host/path"


def _duration_fault(name: str, value: str) -> str | None:
    least, most = _DURATIONS[name]
    try:
        seconds = seconds_of(value)
    except ValueError as error:
        return f"{name}: {error}"
    if least <= seconds <= most:
        return None
    lower = "more than 0s" if least < 1 else f"at least {least:g}s"
    return f"{name} is {value}; it must be {lower} and at most {most:g}s"


def _number_fault(name: str, value: float) -> str | None:
    last = name.rpartition(".")[2]
    limits = _NUMBERS.get(name) or _BY_LAST_PART.get(last)
    if not 0 < value < 1e12:
        return f"{name} is {value:g}; it must be more than 0"
    if last == "target" and not _LEAST_TARGET <= value < 1:
        return f"{name} is {value:g}; it must be {_LEAST_TARGET:g} or more and less than 1"
    if limits is not None and not limits[0] <= value <= limits[1]:
        return f"{name} is {value:g}; it must be {limits[0]:g} to {limits[1]:g}"
    return None
