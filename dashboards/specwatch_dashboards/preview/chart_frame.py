"""What charts over time have in common: the field, the times below it, the marks over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_dashboards.preview import svg
from specwatch_dashboards.preview.marks import Kind, Mark
from specwatch_dashboards.preview.scale import Scale, time_marks
from specwatch_dashboards.preview.time_span import Span

TOP: Final = 14.0
BOTTOM: Final = 24.0
RIGHT: Final = 10.0
_LETTER_PX: Final = 9.0


@dataclass(frozen=True, slots=True)
class Room:
    """Where a chart is drawn: pixels.

    Attributes:
        width: of the picture.
        height: of the picture.
        left: where the field begins.
    """

    width: float
    height: float
    left: float

    @property
    def right(self) -> float:
        """Where the field ends."""
        return self.width - RIGHT

    @property
    def bottom(self) -> float:
        """Lower edge of the field."""
        return self.height - BOTTOM

    def times(self, span: Span) -> Scale:
        """The axis of times."""
        return Scale(span.start, span.end, self.left, self.right)


def time_axis(room: Room, span: Span) -> list[str]:
    """Lines and texts of times; a text that would leave the picture is left out."""
    times = room.times(span)
    parts = []
    for at, words in time_marks(span, room.right - room.left):
        x = times.at(at)
        parts.append(svg.line(x, TOP, x, room.bottom, "grid"))
        half = svg.width_of(words) / 2
        if x - half >= 0 and x + half <= room.width:
            parts.append(svg.text(x, room.height - 5, words, "middle"))
    return parts


def value_axis(room: Room, values: Scale, marks: Sequence[tuple[float, str]]) -> list[str]:
    """Lines and texts of values."""
    parts = []
    for value, words in marks:
        y = values.at(value)
        parts.append(svg.line(room.left, y, room.right, y, "grid"))
        parts.append(svg.text(room.left - 6, y + 3.5, words, "end"))
    return parts


def mark_lines(room: Room, span: Span, kinds: Sequence[Kind]) -> list[str]:
    """Dashed lines with the letter of their kind above; letters that would touch stand together."""
    times = room.times(span)
    shown = sorted((mark for kind in kinds for mark in kind.marks), key=lambda mark: mark.start)
    lines = [_mark_line(mark, times, room) for mark in shown]
    placed: list[tuple[float, str]] = []
    last = room.width - _LETTER_PX * len(kinds)
    for mark in shown:
        x = min(times.at(mark.start) - 4, last)
        if placed and x < placed[-1][0] + _LETTER_PX * (len(placed[-1][1]) + 1):
            first, letters = placed[-1]
            placed[-1] = (first, letters if mark.letter in letters else letters + mark.letter)
        else:
            placed.append((x, mark.letter))
    return lines + [svg.text(x, TOP - 4, letters, kind="letter") for x, letters in placed]


def _mark_line(mark: Mark, times: Scale, room: Room) -> str:
    start, end = times.at(mark.start), times.at(mark.end)
    line = svg.line(start, TOP, start, room.bottom, "mark", mark.color)
    title = f"{mark.letter}: {mark.title}"
    return svg.box(start, TOP, max(end - start, 0.0), room.bottom - TOP, "marked", mark.color, title) + line
