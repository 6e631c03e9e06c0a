"""Puts a line together again that a terminal, a ticket or a README has wrapped: counts, or a finished request."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from specwatch_exporters.logs import finish_line
from specwatch_exporters.logs.line_text import plain
from specwatch_exporters.logs.spec_line import MARKERS, parse_spec_line

MAX_PARTS = 30
"""Lines that one line may have been wrapped into; a finished request's takes the most."""
MAX_LENGTH = 10_000
"""Letters of a line of counts with all that collectors put around it; anything longer is another line."""


def unwrapped(lines: Iterable[str], markers: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers.

    A line of counts or of a finished request that ends early takes the lines behind it, if with them it is whole
    and none of them is a line of its own. A line that was cut stays cut.

    Args:
        lines: a log.
        markers: what lines of an engine are recognised by.
    """
    known = tuple(markers)
    rest = enumerate(lines, start=1)
    ahead: deque[tuple[int, str]] = deque()
    while True:
        number, raw = ahead.popleft() if ahead else next(rest, (0, ""))
        if not number:
            return
        marker = next((mark for mark in (finish_line.MARKER, *MARKERS) if mark in raw), None)
        if marker is not None and _ends_early(raw, marker):
            raw = _whole(raw, marker, known, rest, ahead)
        yield number, raw


def _whole(
    raw: str, marker: str, known: tuple[str, ...], rest: Iterator[tuple[int, str]], ahead: deque[tuple[int, str]]
) -> str:
    """The line with those behind it that complete it, which are used up; or itself."""
    joined = raw
    for parts in range(1, MAX_PARTS):
        if len(ahead) < parts:
            following = next(rest, None)
            if following is None:
                break
            ahead.append(following)
        behind = ahead[parts - 1][1]
        if any(mark in behind for mark in known):
            break
        joined = f"{joined.rstrip()} {behind.strip(' >|')}"
        if not _ends_early(joined, marker):
            for _ in range(parts):
                ahead.popleft()
            return joined
    return raw


def _ends_early(raw: str, marker: str) -> bool:
    if len(raw) > MAX_LENGTH:
        return False
    text = plain(raw, marker).text
    if marker == finish_line.MARKER:
        return not text.endswith("}")
    return marker in text and parse_spec_line(text.partition(marker)[2]).cut
