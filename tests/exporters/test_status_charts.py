"""Charts of the status page stay inside their frames."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from exporters.html_document import Document
from specwatch_exporters.sidecar.status_charts import positions_chart, sparkline

VALUES = st.none() | st.floats()


@given(st.lists(VALUES, max_size=50), st.lists(VALUES, max_size=50), st.lists(VALUES, max_size=50))
def test_any_acceptance_gives_a_chart_inside_its_frame(
    unconditional: list[float | None], conditional: list[float | None], baseline: list[float | None]
) -> None:
    chart = Document(positions_chart(unconditional, conditional, baseline, '"<b>'))
    bars = [value for value in unconditional[:32] if value is not None and math.isfinite(value)]
    assert len(chart.all("path", "bar")) == len(bars)
    for line in chart.all("line"):
        assert 0 <= float(line["y1"]) <= 206
        assert 0 <= float(line["x1"]) <= float(line["x2"]) <= 380


@given(st.lists(st.tuples(st.floats(allow_nan=False), VALUES), max_size=40), st.sampled_from([0.0, 1.0]))
def test_any_history_gives_a_line_inside_its_frame(points: list[tuple[float, float | None]], floor: float) -> None:
    for path in Document(sparkline(points, 600.0, "waiting", floor)).all("path"):
        numbers = [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", path["d"].replace("h0.1", ""))]
        assert all(0 <= value <= 300 for value in numbers)


def test_unknown_values_are_gaps() -> None:
    drawn = Document(sparkline([(30, 1.0), (20, 2.0), (10, None), (5, 3.0)], 60, "waiting"))
    assert [path["class"] for path in drawn.all("path")] == ["area", "line", "area", "line", "newest"]


def test_a_single_unknown_position_is_a_dash() -> None:
    assert Document(positions_chart([0.5, None])).text.count("\N{EM DASH}") == 2
