"""How much of the traffic has a class: late answers, quiet nights and outages are not traffic without one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_detectors.class_coverage import ClassCoverage
from specwatch_detectors.window import Window

LAG = 60.0
STEP = 10.0


def of(drafts: float) -> dict[str, Window]:
    return {"chat": Window(drafts)} if drafts else {}


def fed(coverage: ClassCoverage, start: float, seconds: float, drafts: float, classed: float | None) -> float:
    """Intervals of 10 s; `classed` None: unreadable. Gives the end."""
    for n in range(1, round(seconds / STEP) + 1):
        coverage.update(drafts, None if classed is None else of(classed), start + n * STEP)
    return start + seconds


@pytest.mark.parametrize(("classed", "bare"), [(1000.0, False), (850.0, False), (700.0, True), (0.0, True)])
def test_the_share_is_that_of_drafts_with_a_class(classed: float, bare: bool) -> None:
    coverage = ClassCoverage(LAG)
    now = fed(coverage, 0.0, 1200.0, 1000.0, classed)
    assert coverage.share == pytest.approx(classed / 1000.0)
    assert coverage.bare(now) is bare


def test_answers_after_a_quiet_night_are_late_and_not_without_a_class() -> None:
    coverage = ClassCoverage(LAG)
    now = fed(coverage, 0.0, 3600.0, 50.0, 50.0)
    now = fed(coverage, now, 8 * 3600.0, 0.0, 0.0)
    for step in range(120):
        now += STEP
        coverage.update(5000.0, of(5000.0 if step * STEP >= LAG else 0.0), now)
        assert not coverage.bare(now)
        assert coverage.silence(now) is None


def test_traffic_that_loses_its_class_is_believed_after_a_while() -> None:
    coverage = ClassCoverage(LAG)
    now = fed(coverage, 0.0, 3600.0, 1000.0, 1000.0)
    now = fed(coverage, now, 600.0, 1000.0, 400.0)
    assert not coverage.bare(now)
    now = fed(coverage, now, 1800.0, 1000.0, 400.0)
    assert coverage.bare(now)
    now = fed(coverage, now, 1800.0, 1000.0, 1000.0)
    assert not coverage.bare(now)


def test_an_outage_changes_no_share_and_is_timed_from_its_beginning() -> None:
    coverage = ClassCoverage(LAG)
    now = fed(coverage, 0.0, 3600.0, 1000.0, 1000.0)
    began = now
    now = fed(coverage, now, 2400.0, 1000.0, None)
    assert (coverage.share, coverage.bare(now), coverage.unreadable) == (1.0, False, True)
    assert coverage.silence(now) == pytest.approx(2400.0)
    assert coverage.heard(now) == began
    assert not coverage.update(1000.0, of(240_000.0), now + STEP)  # all of the outage at once: not of this interval
    assert coverage.update(1000.0, of(1000.0), now + 2 * STEP)
    assert coverage.share == 1.0
    assert coverage.silence(now + 2 * STEP) is None


def test_classes_of_which_nothing_is_reported_are_silent_but_not_at_once() -> None:
    coverage = ClassCoverage(LAG)
    now = fed(coverage, 0.0, 3600.0, 1000.0, 1000.0)
    now = fed(coverage, now, 2 * LAG, 1000.0, 0.0)
    assert coverage.silence(now) is None
    now = fed(coverage, now, 300.0, 1000.0, 0.0)
    assert coverage.silence(now) == pytest.approx(300.0 + 2 * LAG)
    assert not coverage.unreadable


INTERVALS = st.lists(
    st.tuples(st.sampled_from([0.0, 100.0, 1e9]), st.sampled_from([None, 0.0, 50.0, 1e9]), st.floats(0.1, 1e5)),
    max_size=30,
)


@given(INTERVALS, INTERVALS)
def test_it_is_a_share_and_goes_on_from_its_state(
    past: list[tuple[float, float | None, float]], future: list[tuple[float, float | None, float]]
) -> None:
    first, now = ClassCoverage(LAG), 0.0
    for drafts, classed, passed in past:
        now += passed
        first.update(drafts, None if classed is None else of(classed), now)
    second = ClassCoverage(LAG, json.loads(json.dumps(first.state())))
    for drafts, classed, passed in future:
        now += passed
        classes = None if classed is None else of(classed)
        assert first.update(drafts, classes, now) == second.update(drafts, classes, now)
        assert 0.0 <= first.share <= 1.0
        assert first.state() == second.state()
        assert (first.bare(now), first.silence(now)) == (second.bare(now), second.silence(now))
