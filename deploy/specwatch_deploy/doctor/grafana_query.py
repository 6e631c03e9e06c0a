"""Queries with Grafana's variables, made readable for a PromQL parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# Durations that nobody writes. What Grafana puts in for the first is four scrapes at least.
ENOUGH: Final = "3211789ms"
INTERVAL: Final = "1217783ms"
ANY: Final = "86399321ms"
PLACEHOLDER: Final = "grafana__variable"
_VARIABLE: Final = re.compile(r"\$\{\w+(?:[.:][\w.:]+)?\}|\[\[\w+(?::\w+)?\]\]|\$\w+")
_SPAN: Final = re.compile(rf"({_VARIABLE.pattern})(?:ms|[smhdwy])?")
_TEXT: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`""")
_RANGE: Final = re.compile(r"\[(?!\[)((?:\[\[|\]\]|[^\]])*)\]")


def has_variable(text: str) -> bool:
    """Whether there is any variable of Grafana's in a text."""
    return _VARIABLE.search(text) is not None


def readable(query: str) -> Iterator[str]:
    """Texts to try to parse, the likeliest first: a variable may stand for a name or for a number."""
    if has_variable(query):
        yield _replaced(query, PLACEHOLDER)
        yield _replaced(query, "1")
    else:
        yield query


def _replaced(query: str, word: str) -> str:
    parts, at = [], 0
    for text in _TEXT.finditer(query):
        parts += [_outside(query[at : text.start()], word), text.group()]
        at = text.end()
    return "".join([*parts, _outside(query[at:], word)])


def _outside(part: str, word: str) -> str:
    """A part without quoted texts."""
    part = _RANGE.sub(lambda found: f"[{_durations(found[1])}]", part)
    part = re.sub(r"\boffset\s+(-?)(?:\$\w+|\$\{\w+\}|\[\[\w+\]\])", rf"offset \g<1>{ANY}", part)
    return _VARIABLE.sub(word, part)


def _durations(inside: str) -> str:
    return _SPAN.sub(_duration, inside)


def _duration(found: re.Match[str]) -> str:
    name = found[1].strip("${}[]").partition(":")[0]
    return {"__rate_interval": ENOUGH, "__interval": INTERVAL}.get(name, ANY)
