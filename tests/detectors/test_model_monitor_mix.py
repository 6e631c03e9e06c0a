"""A drop of all traffic: what the mix explains is shown; what nobody can tell is said, and waited for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from detectors.drafting import expected
from detectors.model_traffic import EVEN, EVENTS, QS, STEP, fed, mix, model, play, states, whole
from specwatch_detectors.model_monitor import ModelMonitor, ModelReading
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.window import NOTHING, Window

# What the classes tell: shares, names that they go by, whether the page is readable.
SHARES = st.fixed_dictionaries({name: st.sampled_from([0.0, 0.05, 0.5, 1.0]) for name in (*QS, "agent", "other")})
ACTS = st.tuples(
    SHARES.filter(lambda shares: sum(shares.values()) > 0.0),
    st.booleans(),
    st.sampled_from([100.0, 6000.0, 1e9]),
    st.sampled_from([None, None, *Change]),
    st.integers(1, 60),
)
KNOWN = {**QS, "agent": (0.3, 0.3), "other": (0.4, 0.4)}


OTHER = {"code": 0.0, "chat": 0.0, "agent": 0.0, "other": 0.05}


# Counts that came late, and then all at once after an outage: a share of 100 % is not "too little with a class".
@example(
    acts=[(OTHER, True, 1e9, None, 4), (OTHER, False, 100.0, None, 57), (OTHER, False, 100.0, None, 1)],
    lag=1,
    learning=False,
)
@given(st.lists(ACTS, min_size=1, max_size=8), st.integers(0, 6), st.booleans())
def test_a_healthy_draft_is_never_paged_while_classes_are_told_whatever_the_mix(
    acts: list[Any], lag: int, learning: bool
) -> None:
    """New, vanished and unknown classes, outages shorter than the patience, restarts; the classes may come late."""
    monitor, now = (ModelMonitor(depth=2) if learning else model()), 0.0
    late: list[dict[str, Window]] = [{}] * lag
    acts = [(EVEN, True, 6000.0, None, 60), *acts]
    owed: dict[str, Window] = {}  # counters: what an outage held back comes with the next page
    was_readable = True
    for shares, readable, drafts, change, intervals in acts:
        was_readable = readable or not was_readable  # an outage of 10 min at most
        if change is not None:
            monitor.changed(change)
        whole_share = sum(shares.values())
        seen = {
            name: expected(drafts * share / whole_share, KNOWN[name]) for name, share in shares.items() if share
        }
        for _ in range(intervals):
            now += STEP
            late.append(seen)
            owed = _added(owed, late.pop(0))
            reading = monitor.update(whole(seen), now, owed if was_readable else None)
            owed = {} if was_readable else owed
            assert reading.verdict.state is not DriftState.DRIFTED, reading.verdict.reason
            coherent(reading)
    assert monitor.alarms == 0


def _added(owed: dict[str, Window], told: dict[str, Window]) -> dict[str, Window]:
    return {name: owed.get(name, NOTHING) + told.get(name, NOTHING) for name in sorted({*owed, *told})}


def coherent(reading: ModelReading) -> None:
    """Flag, state and words are one judgement."""
    verdict = reading.verdict
    assert reading.mix_shift == verdict.reason.startswith("the mix of traffic has changed")
    assert not reading.mix_shift or verdict.state is DriftState.WATCH
    for number in re.findall(r"(\d+)%", verdict.reason):
        assert 0 <= int(number) <= 100


@given(st.lists(EVENTS, min_size=1, max_size=8))
def test_flag_state_and_words_agree_whatever_happens(events: list[Any]) -> None:
    monitor = model()
    found, _ = play(monitor, events, 0.0)
    for reading in found:
        if isinstance(reading, ModelReading):
            coherent(reading)
            assert (reading.verdict.state is not DriftState.DRIFTED) or reading.verdict.alarms > 0


@given(SHARES.filter(lambda shares: shares["code"] + shares["chat"] > 0.1), st.sampled_from([0.5, 0.85]))
def test_a_bad_draft_is_paged_within_minutes_whatever_the_mix_becomes(
    shares: dict[str, float], factor: float
) -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 60, 0.0)
    whole_share = sum(shares.values())
    seen = {
        name: expected(6000 * share / whole_share, KNOWN[name], factor) for name, share in shares.items() if share
    }
    readings = fed(monitor, seen, 60, 600.0)
    assert readings[-1].verdict.state is DriftState.DRIFTED
    assert readings[-1].verdict.alarms == 1


def test_an_outage_of_the_class_counts_is_waited_for_and_then_the_total_judges_and_says_so() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    shifted = mix({"code": 0.05, "chat": 0.95})
    readings = fed(monitor, shifted, 90, 1000.0, labelled=False)
    assert DriftState.DRIFTED not in states(readings)
    assert readings[-1].verdict.state is DriftState.CANNOT_TELL
    assert "counts of classes have been unreadable for 15 min" in readings[-1].verdict.reason
    after = fed(monitor, shifted, 10, 1900.0, labelled=False)[-1]
    assert (after.verdict.state, after.verdict.alarms) == (DriftState.DRIFTED, 1)
    assert "a change of mix cannot be told from drift" in after.verdict.reason
    assert fed(monitor, shifted, 1, 2000.0)[-1].verdict.state is DriftState.DRIFTED  # doubt takes nothing back
    back = fed(monitor, shifted, 100, 2010.0)[-1]
    assert (back.verdict.state, back.mix_shift, back.verdict.alarms) == (DriftState.WATCH, True, 1)


@pytest.mark.parametrize("lag", [3, 6])
def test_late_counts_of_before_the_drop_do_not_make_it_one_of_mix(lag: int) -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 60, 0.0)
    late, bad = [mix(EVEN)] * lag, mix({"code": 0.3, "chat": 0.7}, 0.85)
    for interval in range(60):
        late.append(bad)
        reading = monitor.update(whole(bad), 600.0 + STEP * interval, late.pop(0))
        assert not reading.mix_shift
    assert reading.verdict.state is DriftState.DRIFTED


def test_what_was_paged_is_not_taken_back_by_a_restart_or_an_outage() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    assert fed(monitor, mix(EVEN, 0.8), 60, 1000.0)[-1].verdict.state is DriftState.DRIFTED
    monitor.changed(Change.RESTART)
    readings = fed(monitor, mix(EVEN, 0.8), 60, 2000.0) + fed(monitor, mix(EVEN, 0.8), 60, 3000.0, labelled=False)
    assert states(readings) == {DriftState.DRIFTED}
    assert readings[-1].verdict.alarms == 1


def test_classes_too_young_to_explain_a_drop_block_for_a_day_at_most() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 100, 0.0)
    few = {"agent": expected(60, (0.2, 0.2))}
    last = None
    for interval in range(2000):
        last = monitor.update(whole(few), 1000.0 + 60.0 * interval, few)
        if last.verdict.state is DriftState.DRIFTED:
            break
    assert last is not None
    assert last.verdict.state is DriftState.DRIFTED
    assert 60.0 * interval == pytest.approx(86_400.0, abs=7200.0)
    assert "too young to tell whether the mix is the reason (agent 100%)" in last.verdict.reason


@pytest.mark.parametrize("bare", [0.15, 0.5])
def test_a_drop_that_lasts_in_traffic_without_a_class_is_not_over_with_the_classes(bare: float) -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 60, 0.0)

    def run(factor: float, intervals: int, start: float) -> list[ModelReading]:
        classes = mix(EVEN, factor, 6000 * (1.0 - bare))
        rest = whole(mix(EVEN, 0.5, 6000 * bare))
        return [monitor.update(whole(classes) + rest, start + STEP * n, classes) for n in range(intervals)]

    assert run(0.5, 30, 600.0)[-1].verdict.state is DriftState.DRIFTED
    after = run(1.0, 300, 900.0)
    assert states(after[60:]) == {DriftState.WATCH if bare < 0.2 else DriftState.DRIFTED}
    assert after[-1].verdict.alarms == 1


BAD_ACTS = st.tuples(
    SHARES.filter(lambda shares: shares["code"] + shares["chat"] > 0.1),
    st.booleans(),
    st.sampled_from([None, None, Change.RESTART, Change.DEPLOY, Change.VERSION]),
    st.integers(1, 60),
)


@given(st.lists(BAD_ACTS, min_size=1, max_size=6), st.sampled_from([0.5, 0.85]))
def test_a_draft_that_stays_bad_is_never_called_ok_again(acts: list[Any], factor: float) -> None:
    """Whatever the mix becomes, whatever is restarted, and while the class page cannot be read."""
    monitor, now = model(), 600.0
    fed(monitor, mix(EVEN), 60, 0.0)
    assert fed(monitor, mix(EVEN, factor), 60, now)[-1].verdict.state is DriftState.DRIFTED
    now += 600.0
    for shares, readable, change, intervals in acts:
        if change is not None:
            monitor.changed(change)
        every = sum(shares.values())
        seen = {
            name: expected(6000 * share / every, KNOWN[name], factor) for name, share in shares.items() if share
        }
        readings = fed(monitor, seen, intervals, now, labelled=readable)
        now += STEP * intervals
        assert DriftState.OK not in states(readings)
        assert not any(reading.mix_shift for reading in readings)


@pytest.mark.parametrize("richer", [0.5, 0.6, 0.9])
def test_a_change_of_mix_is_over_once_the_length_is_back(richer: float) -> None:
    """No "the mix has changed: 2.45, baseline 2.30": with the old mix back, or a better one, it ends in minutes."""
    monitor = model()
    fed(monitor, mix(EVEN), 60, 0.0)
    changed = fed(monitor, mix({"code": 0.1, "chat": 0.9}), 60, 600.0)
    assert changed[-1].mix_shift
    back = fed(monitor, mix({"code": richer, "chat": 1.0 - richer}), 90, 1200.0)
    assert back[-1].verdict.state is DriftState.OK
    silly = [
        one for one in back if one.mix_shift and (one.verdict.length or 0.0) > (one.verdict.baseline_length or 0.0)
    ]
    assert len(silly) <= 1
    assert monitor.alarms == 0


def test_a_change_of_mix_that_lasts_is_said_as_long_as_it_lasts() -> None:
    monitor = model()
    fed(monitor, mix(EVEN), 60, 0.0)
    lasting = fed(monitor, mix({"code": 0.1, "chat": 0.9}), 720, 600.0)
    first = next(at for at, one in enumerate(lasting) if one.mix_shift)
    assert all(one.mix_shift for one in lasting[first:])
