from __future__ import annotations

import pytest

from specwatch_detectors.recent_windows import CHUNKS, RecentWindows
from specwatch_detectors.window import window


def test_before_and_after_leave_the_chunk_of_the_onset_out() -> None:
    recent = RecentWindows(chunk_s=20.0)
    for step in range(1, 13):
        recent.add(10.0 * step, window(100.0, (50.0,)), {"code": window(60.0, (40.0,))})
    total, classes = recent.around(65.0)
    assert (total.before.drafts, total.after.drafts) == (500.0, 500.0)
    assert (classes["code"].before.drafts, classes["code"].after.drafts) == (300.0, 300.0)


def test_a_cut_separates_two_engines() -> None:
    recent = RecentWindows(chunk_s=100.0)
    recent.add(10.0, window(100.0, (90.0,)), {})
    recent.add(20.0, window(100.0, (90.0,)), {})
    recent.add(30.0, window(100.0, (10.0,)), {}, cut=True)
    total, _ = recent.around(20.0)
    assert (total.before.accepted_tokens, total.after.accepted_tokens) == (180.0, 10.0)


def test_memory_is_bounded_and_the_oldest_goes() -> None:
    recent = RecentWindows(chunk_s=1.0)
    for step in range(1, 3 * CHUNKS):
        recent.add(2.0 * step, window(1.0, (1.0,)), {})
    total, _ = recent.around(1e9)
    assert total.before.drafts == pytest.approx(CHUNKS)
