"""Published cases: Kubernetes' documentation of scaling policies, and KEP-853."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from specwatch_deploy.scale.gpu_behavior import gpu_behavior
from specwatch_deploy.scale.hpa import Bounds, Hpa
from specwatch_deploy.scale.hpa_behavior import (
    KUBERNETES_DEFAULT,
    Behavior,
    Policy,
    PolicyType,
    ScalingRules,
    Select,
)

PODS, PERCENT = PolicyType.PODS, PolicyType.PERCENT
UP = KUBERNETES_DEFAULT.up


def follow(hpa: Hpa, start: int, wanted: Sequence[int | None], every: float = 15.0) -> list[int]:
    found, now = [], start
    for number, wish in enumerate(wanted):
        now = hpa.sync(number * every, now, [wish])
        found.append(now)
    return found


def test_the_documentations_ten_percent_or_four_pods_per_minute() -> None:
    """80 replicas: 8 go, of 72 again 8 (7.2 rounded up), 10 % while that is more than 4 pods, then 4 at a time."""
    down = ScalingRules(0, (Policy(PODS, 4, 60), Policy(PERCENT, 10, 60)))
    found = follow(Hpa(Bounds(1, 100), Behavior(UP, down)), 80, [10] * 14, every=60.0)
    assert found[:3] == [72, 64, 57]
    assert found[found.index(36) : found.index(36) + 3] == [36, 32, 28]
    assert found[-1] == 10 or found[-1] > 10


def test_kep_853_as_fast_as_possible() -> None:
    up = ScalingRules(0, (Policy(PERCENT, 900, 60),))
    assert follow(Hpa(Bounds(1, 1000), Behavior(up, KUBERNETES_DEFAULT.down)), 1, [5000] * 3, every=60.0) == [
        10,
        100,
        1000,
    ]


def test_kep_853_one_pod_in_ten_minutes() -> None:
    up = ScalingRules(0, (Policy(PODS, 1, 600),))
    found = follow(Hpa(Bounds(1, 100), Behavior(up, KUBERNETES_DEFAULT.down)), 1, [9] * 61, every=20.0)
    assert [found[0], found[29], found[30], found[60]] == [2, 2, 3, 4]


def test_scale_down_follows_the_greatest_wish_of_its_window() -> None:
    wishes = [10, 9, 8, 9, 7, *[3] * 20]
    found = follow(Hpa(Bounds(1, 100), KUBERNETES_DEFAULT), 10, wishes)
    assert found[:20] == [10] * 20
    assert found[20:] == [9, 9, 9, 7, 3]


def test_scale_up_follows_the_least_wish_of_its_window() -> None:
    up = ScalingRules(60, (Policy(PODS, 100, 15),))
    found = follow(Hpa(Bounds(1, 100), Behavior(up, KUBERNETES_DEFAULT.down)), 2, [2, 9, 9, 9, 9])
    assert found == [2, 2, 2, 2, 9]


def test_a_new_autoscaler_starts_from_the_replicas_that_it_finds() -> None:
    assert follow(Hpa(Bounds(1, 100), KUBERNETES_DEFAULT), 10, [3] * 21) == [10] * 20 + [3]


def test_disabled_and_min_policies() -> None:
    held = Behavior(UP, ScalingRules(0, (Policy(PERCENT, 100, 15),), Select.DISABLED))
    assert follow(Hpa(Bounds(1, 10), held), 5, [1] * 30) == [5] * 30
    slow = Behavior(UP, ScalingRules(0, (Policy(PERCENT, 50, 60), Policy(PODS, 1, 60)), Select.MIN))
    assert follow(Hpa(Bounds(1, 10), slow), 8, [1, 1, 1, 1, 1]) == [7, 7, 7, 7, 6]


def test_metrics_that_fail_block_the_way_down_and_not_up() -> None:
    def fresh() -> Hpa:
        return Hpa(Bounds(1, 10), Behavior(UP, ScalingRules(0, (Policy(PERCENT, 100, 15),))))

    assert fresh().sync(0.0, 4, [None]) == 4
    assert fresh().sync(0.0, 4, [2, None]) == 4
    assert fresh().sync(0.0, 4, [6, None]) == 6
    assert fresh().sync(0.0, 4, [2, 3]) == 3


def test_zero_is_switched_off_and_bounds_are_kept() -> None:
    assert Hpa(Bounds(1, 10)).sync(0.0, 0, [5]) == 0
    assert Hpa(Bounds(2, 10)).sync(0.0, 1, [1]) == 2
    assert Hpa(Bounds(2, 10)).sync(0.0, 50, [50]) == 10


@given(
    wishes=st.lists(st.none() | st.integers(0, 40), min_size=1, max_size=120),
    start=st.integers(1, 20),
    start_up=st.integers(10, 600),
)
def test_bounds_and_policies_hold_for_any_wishes(wishes: list[int | None], start: int, start_up: int) -> None:
    behavior = gpu_behavior(start_up)
    found = [start, *follow(Hpa(Bounds(1, 20), behavior), start, wishes)]
    assert all(1 <= now <= 20 for now in found)
    period = behavior.down.policies[0].period_s
    for index, now in enumerate(found):
        minute = found[max(0, index - 4) : index] or [now]
        assert now <= max(max(minute) + 4, 2 * max(minute))
        past = found[max(0, index - math.ceil(period / 15.0)) : index] or [now]
        assert now >= min(past) // 2


@given(st.integers(1, 20), st.integers(1, 20))
def test_a_constant_wish_is_reached_and_kept(start: int, wish: int) -> None:
    found = follow(Hpa(Bounds(1, 20), gpu_behavior(60)), start, [wish] * 80)
    assert found[-1] == wish
    assert sum(a != b for a, b in pairwise(found[40:])) == 0
