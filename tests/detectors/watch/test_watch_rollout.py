from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import pytest

from specwatch_detectors.reading import Change
from specwatch_detectors.watch.pod_facts import FactKind
from specwatch_detectors.watch.rollout import LIVE_S, SETTLE_S, SPAN_S, Rollout

BEGIN = 1_000_000.0
STEP = 10.0


class Fleet:
    """Pods that are seen every ten seconds, and what comes of it."""

    def __init__(self, *pods: str, version: str = "1") -> None:
        self.rollout = Rollout()
        self.now = BEGIN
        self.pods = dict.fromkeys(pods, version)
        self.changes: list[Change] = []
        for pod in pods:
            self.rollout.saw(pod, self.now, newcomer=False)
        self.run(STEP)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += STEP
            for pod, version in self.pods.items():
                self.rollout.saw(pod, self.now)
                self.rollout.told(pod, FactKind.VERSION, version, self.now)
            change = self.rollout.step(self.now)
            if change is not None:
                self.changes.append(change)

    def restart(self, pod: str) -> None:
        self.rollout.told(pod, FactKind.RESTART, "", self.now)

    def replace(self, old: str, new: str, version: str = "1") -> None:
        self.pods.pop(old, None)
        self.pods[new] = version


def names(count: int, prefix: str = "old") -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


def restart_all(fleet: Fleet) -> None:
    for pod in list(fleet.pods):
        fleet.restart(pod)
        fleet.run(30)


def restart_one(fleet: Fleet) -> None:
    fleet.restart("old-0")


def replace_all(fleet: Fleet) -> None:
    for number, pod in enumerate(list(fleet.pods)):
        fleet.replace(pod, f"new-{number}")
        fleet.run(30)


def upgrade_all(fleet: Fleet) -> None:
    for number, pod in enumerate(list(fleet.pods)):
        fleet.replace(pod, f"new-{number}", version="2")
        fleet.run(30)


def upgrade_in_place(fleet: Fleet) -> None:
    for pod in list(fleet.pods):
        fleet.restart(pod)
        fleet.pods[pod] = "2"
        fleet.run(30)


def upgrade_a_canary(fleet: Fleet) -> None:
    fleet.replace("old-0", "new-0", version="2")


def scale_out(fleet: Fleet) -> None:
    fleet.pods |= dict.fromkeys(names(30, "more"), "1")


def scale_in(fleet: Fleet) -> None:
    for pod in names(8):
        del fleet.pods[pod]


def upgrade_and_back(fleet: Fleet) -> None:
    upgrade_in_place(fleet)
    fleet.run(SETTLE_S)
    for pod in list(fleet.pods):
        fleet.pods[pod] = "1"
        fleet.run(30)


def vanish_and_come_back(fleet: Fleet) -> None:
    kept, fleet.pods = fleet.pods, {}
    fleet.run(900)
    fleet.pods = kept


def say_nothing(fleet: Fleet) -> None:
    fleet.pods = dict.fromkeys(fleet.pods, "1")


@pytest.mark.parametrize("pods", [1, 2, 10, 41])
@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        (restart_all, [Change.RESTART]),
        (replace_all, [Change.DEPLOY]),
        (upgrade_all, [Change.VERSION]),
        (upgrade_in_place, [Change.VERSION]),
        (upgrade_and_back, [Change.VERSION, Change.VERSION]),
        (vanish_and_come_back, []),
        (say_nothing, []),
    ],
)
def test_whatever_happens_to_the_whole_fleet_is_one_change(
    pods: int, happens: Callable[[Fleet], None], expected: list[Change]
) -> None:
    fleet = Fleet(*names(pods))
    happens(fleet)
    fleet.run(1800)
    assert fleet.changes == expected


@pytest.mark.parametrize("happens", [restart_one, upgrade_a_canary, scale_out, scale_in])
def test_what_happens_to_a_part_of_the_fleet_is_none(happens: Callable[[Fleet], None]) -> None:
    fleet = Fleet(*names(10))
    happens(fleet)
    fleet.run(1800)
    assert fleet.changes == []


def test_pods_that_restart_one_a_day_are_no_rollout() -> None:
    fleet = Fleet(*names(4))
    for pod in names(4):
        fleet.restart(pod)
        fleet.run(SPAN_S + STEP)
    assert fleet.changes == []


def test_the_pods_that_follow_in_a_rollout_are_part_of_it() -> None:
    fleet = Fleet(*names(20))
    for number, pod in enumerate(names(20)):
        fleet.replace(pod, f"new-{number}")
        fleet.run(300)
    assert fleet.changes == [Change.DEPLOY]


def test_an_even_split_does_not_go_back_and_forth() -> None:
    fleet = Fleet(*names(4))
    fleet.pods |= {"old-0": "2", "old-1": "2"}
    fleet.run(3600)
    assert fleet.changes == []


def told(rollout: Rollout, kind: FactKind, values: Iterable[str], gap: float = 60.0) -> list[Change]:
    now, found = BEGIN, []
    rollout.saw("pod", now, newcomer=False)
    for value in values:
        for _ in range(round(gap / STEP)):
            now += STEP
            rollout.saw("pod", now)
            rollout.told("pod", kind, value, now)
            change = rollout.step(now)
            found += [] if change is None else [change]
    return found


def test_another_method_is_a_change() -> None:
    assert told(Rollout(), FactKind.METHOD, ["eagle3", "ngram"]) == [Change.METHOD]


def test_another_number_of_draft_tokens_is_a_change() -> None:
    rollout = Rollout()
    assert told(rollout, FactKind.DEPTH, ["4", "5"]) == [Change.DEPTH]
    assert rollout.depth == 5


def test_an_engine_that_adapts_its_draft_tokens_changes_nothing_any_more() -> None:
    assert told(Rollout(), FactKind.DEPTH, "4545454") == [Change.DEPTH, Change.DEPTH]


def test_what_follows_a_change_counts_if_it_says_more() -> None:
    fleet = Fleet("old-0")
    fleet.rollout.current |= {"method": "eagle3", "depth": "4"}
    fleet.restart("old-0")
    fleet.run(30)
    fleet.pods["old-0"] = "2"
    fleet.run(30)
    assert fleet.changes == [Change.RESTART, Change.VERSION]
    fleet.rollout.told("old-0", FactKind.DEPTH, "5", fleet.now)
    fleet.run(30)
    assert fleet.changes == [Change.RESTART, Change.VERSION], "one rollout"
    fleet.rollout.told("old-0", FactKind.METHOD, "ngram", fleet.now)
    fleet.run(30)
    assert fleet.changes == [Change.RESTART, Change.VERSION, Change.METHOD]


def test_pods_without_counts_are_not_followed() -> None:
    rollout = Rollout()
    rollout.told("stranger", FactKind.VERSION, "1", BEGIN)
    assert rollout.step(BEGIN) is None
    assert rollout.pods == {}


def test_pods_are_forgotten() -> None:
    fleet = Fleet(*names(3))
    fleet.pods = {}
    fleet.run(SPAN_S + LIVE_S)
    assert fleet.rollout.pods == {}


@pytest.mark.parametrize("happens", [restart_all, replace_all, upgrade_in_place, scale_out])
def test_it_goes_on_from_its_state(happens: Callable[[Fleet], None]) -> None:
    fleet, other = Fleet(*names(6)), Fleet(*names(6))

    def reload() -> None:
        other.rollout = Rollout(json.loads(json.dumps(other.rollout.state())))

    run = other.run

    def run_in_pieces(seconds: float) -> None:
        while seconds > 0:
            run(STEP)
            reload()
            seconds -= STEP

    other.run = run_in_pieces  # type: ignore[method-assign]
    for one in (fleet, other):
        happens(one)
        one.run(600)
    assert other.changes == fleet.changes
    assert other.rollout.state() == fleet.rollout.state()
