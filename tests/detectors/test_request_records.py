from __future__ import annotations

import pytest

from specwatch_detectors.history import HistoryError
from specwatch_detectors.request_records import read_records

LINES = (
    '{"drafts": 10, "accepted": 12, "class": "chat", "model": "m"}',
    "",
    '{"drafts": 4, "accepted": 3}',
    '{"drafts": 9, "accepted": 1, "model": "other"}',
)


def test_records_are_kept_by_class_and_model() -> None:
    assert read_records(LINES, "x", "m") == {"": [(10.0, 12.0), (4.0, 3.0)], "chat": [(10.0, 12.0)]}
    assert len(read_records(LINES, "x")[""]) == 3


@pytest.mark.parametrize("line", ["[]", "{", '{"drafts": -1, "accepted": 0}', '{"drafts": true, "accepted": 0}'])
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(HistoryError, match="x: line 2: "):
        read_records((LINES[0], line), "x")
