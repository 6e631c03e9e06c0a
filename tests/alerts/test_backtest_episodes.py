from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_alerts.backtest_episodes import Episode, Firing, firing, runs

STEP = 60.0


def minutes(*numbers: int) -> list[float]:
    return [STEP * number for number in numbers]


def as_prometheus_does(given: set[int], last: int, wait: float, keep: float) -> list[tuple[int, int, bool]]:
    """The rule's state, evaluation by evaluation, as `rules/alerting.go` has it."""
    state, active, since, began = "inactive", 0, -1, 0
    found = []
    for now in range(last + 1):
        if now in given:
            if state == "inactive":
                state, active = "pending", now
            since = -1
            if state == "pending" and now - active >= wait:
                state, began = "firing", now
        elif state == "firing":
            since = now if since < 0 else since
            if not (keep > 0 and now - since < keep):
                found.append((began, now, True))
                state = "inactive"
        else:
            state = "inactive"
    if state == "firing":
        found.append((began, last, False))
    return found


@pytest.mark.parametrize(
    ("given", "wait", "keep", "episodes", "held_back"),
    [
        ((), 0, 0, (), 0),
        ((3,), 0, 0, ((3, 4, True),), 0),
        ((3, 4, 5), 0, 0, ((3, 6, True),), 0),
        ((3, 5), 0, 0, ((3, 4, True), (5, 6, True)), 0),
        ((3, 4, 5), 120, 0, ((5, 6, True),), 0),
        ((3, 4), 120, 0, (), 1),
        ((3, 4, 6, 7), 120, 0, (), 2),
        ((3, 4, 5), 90, 0, ((5, 6, True),), 0),
        ((3,), 0, 120, ((3, 6, True),), 0),
        ((3, 5), 0, 120, ((3, 8, True),), 0),
        ((3, 6), 0, 120, ((3, 9, True),), 0),
        ((3, 7), 0, 120, ((3, 6, True), (7, 10, True)), 0),
        ((3, 4, 5, 7), 120, 120, ((5, 10, True),), 0),
        ((18, 19, 20), 0, 0, ((18, 20, False),), 0),
        ((19, 20), 120, 0, (), 0),
        ((17,), 0, 300, ((17, 20, False),), 0),
        (tuple(range(21)), 600, 0, ((10, 20, False),), 0),
    ],
)
def test_for_and_keep_firing_for(
    given: tuple[int, ...],
    wait: float,
    keep: float,
    episodes: tuple[tuple[int, int, bool], ...],
    held_back: int,
) -> None:
    expected = tuple(Episode(start * STEP, end * STEP, ended) for start, end, ended in episodes)
    assert firing(minutes(*given), STEP, wait, keep, 20 * STEP) == Firing(expected, held_back)


@given(
    st.sets(st.integers(0, 60)),
    st.sampled_from([0, 30, 60, 90, 120, 300, 900]),
    st.sampled_from([0, 30, 60, 90, 120, 300, 900]),
)
def test_it_is_the_state_machine_of_prometheus(present: set[int], wait: int, keep: int) -> None:
    found = firing(minutes(*sorted(present)), STEP, wait, keep, 60 * STEP)
    expected = as_prometheus_does(present, 60, wait / STEP, keep / STEP)
    assert [(one.start / STEP, one.end / STEP, one.ended) for one in found.episodes] == expected


@given(st.sets(st.integers(0, 200)))
def test_runs_cover_what_was_given_and_nothing_else(present: set[int]) -> None:
    stretches = list(runs(minutes(*sorted(present)), STEP))
    covered = [
        int(at / STEP) for first, final in stretches for at in minutes(*range(int(first / 60), int(final / 60) + 1))
    ]
    assert covered == sorted(present)
    assert all(later[0] - earlier[1] > STEP for earlier, later in pairwise(stretches))
