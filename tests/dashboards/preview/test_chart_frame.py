"""Texts of the two axes of a chart never share a spot, wherever the first time mark falls."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from specwatch_dashboards.preview.chart_frame import TOP, Room, time_axis, value_axis
from specwatch_dashboards.preview.scale import Scale
from specwatch_dashboards.preview.svg import width_of
from specwatch_dashboards.preview.time_span import Span

LETTER_HEIGHT_PX = 11.0
"""The axes' font; nearly all of it lies above the base line."""
TEXT = re.compile(r'<text class="axis" x="([^"]+)" y="([^"]+)" text-anchor="(\w+)">([^<]+)<')


def boxes(parts: list[str]) -> list[tuple[float, float, float, float]]:
    """Left, right, upper and lower edge of each text."""
    found = []
    for x, y, anchor, words in (match.groups() for part in parts for match in TEXT.finditer(part)):
        left = float(x) - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width_of(words)
        found.append((left, left + width_of(words), float(y) - LETTER_HEIGHT_PX, float(y) + 2.0))
    return found


@given(start=st.floats(1.7e9, 1.8e9), seconds=st.floats(10.0, 3e6), width=st.floats(160.0, 1400.0))
def test_times_and_values_stand_apart(start: float, seconds: float, width: float) -> None:
    room = Room(width, 170.0, 34.0)
    times = boxes(time_axis(room, Span(start, start + seconds)))
    values = boxes(value_axis(room, Scale(0.0, 2.0, room.bottom, TOP), [(0.0, "0x"), (1.0, "1x"), (2.0, "2x")]))
    for left, right, upper, lower in times:
        assert lower <= room.height
        for other_left, other_right, other_upper, other_lower in values:
            assert right <= other_left or left >= other_right or upper >= other_lower or lower <= other_upper
