"""One raw line of a log to plain text: colours off, JSON wrappers off, and where the line came from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PLACES = frozenset({"pod", "pod_name", "container_id", "container_name", "hostname", "host"})
_NESTED = ("kubernetes", "docker", "record", "attributes")
_TIME_OR_LEVEL = re.compile(
    r"\S*\d{1,2}:\d{2}\S*"  # 14:20:34, 2025-11-22T10:00:00Z
    r"|\[?\d{2,4}-\d{2}(?:-\d{2})?|[\d.,]+"  # 06-06, [2025-11-22, 1722860703.1
    r"|\|?\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR)\]?:?|\|"
    r"|\[?\S+\.(?:py|log):?(?:\d+\])?"  # [metrics.py:86], metrics.py:345], metrics.log:
)


class Line:
    """A line as text, with the place it came from where a JSON wrapper names one."""

    __slots__ = ("place", "text")

    def __init__(self, text: str, place: str = "") -> None:
        self.text = text
        self.place = place


def plain(raw: str, marker: str) -> Line:
    """Undo what collectors did to a line.

    Args:
        raw: the line; CRLF and colour codes are dropped.
        marker: what the line was recognised by; a JSON line is replaced by the field that holds it.
    """
    text = raw.strip("\ufeff \t\r\n")
    place = ""
    if text.startswith("{"):
        wrapper = _wrapper(text)
        inner = next((value for value in _texts(wrapper) if marker in value), None)
        if inner is not None:
            text, place = inner, _place(wrapper)
    return Line(_COLOUR.sub("", text).strip(), place)


def source_of(prefix: str) -> str:
    """What tells the writers of a shared log apart: the text before a message, without times, level and file."""
    return " ".join(word for word in prefix.split() if not _TIME_OR_LEVEL.fullmatch(word))


def _wrapper(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _levels(wrapper: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield wrapper
    yield from (nested for name in _NESTED if isinstance(nested := wrapper.get(name), dict))


def _texts(wrapper: Mapping[str, Any]) -> Iterator[str]:
    return (value for level in _levels(wrapper) for value in level.values() if isinstance(value, str))


def _place(wrapper: Mapping[str, Any]) -> str:
    named = ((key, value) for level in _levels(wrapper) for key, value in level.items() if key in _PLACES)
    return " ".join(value for _, value in sorted(pair for pair in named if isinstance(pair[1], str)))
