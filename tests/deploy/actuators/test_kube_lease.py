"""Leader election: never two leaders, and another one soon after the first is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.actuators.kube_fields import Json
from deploy.actuators.kube_objects import KubeObjects, RefusedError
from deploy.actuators.kube_samples import NAMESPACE, cluster
from deploy.actuators.kube_server import Fault, KubeServer
from specwatch_deploy.actuators.cluster import LEASES, Cluster, ConflictError, MissingError, Resource
from specwatch_deploy.actuators.lease import LeaseElection, LeaseTimes
from specwatch_deploy.actuators.lease_leader import LeaseLeader
from specwatch_detectors.fallback.actuator import ActuatorError

KEY = ("leases", NAMESPACE, "fallback")
TIMES = LeaseTimes()


@dataclass
class Clock:
    """Time of one machine: its own beginning and its own speed."""

    now: float = 0.0
    offset: float = 0.0
    rate: float = 1.0

    def __call__(self) -> float:
        return self.offset + self.rate * self.now


def wall() -> datetime:
    return datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


def candidate(api: Cluster, name: str, clock: Clock, time_of_day: Callable[[], datetime] = wall) -> LeaseElection:
    return LeaseElection(api, NAMESPACE, "fallback", name, clock=clock, wall=time_of_day)


def spec(kube: KubeServer) -> Json:
    found: Json = kube.objects.get(KEY)["spec"]
    return found


def test_acquire_renew_release_and_take_over(kube: KubeServer) -> None:
    clock = Clock()
    one, two = candidate(cluster(kube), "one", clock), candidate(cluster(kube), "two", clock)
    assert (one.tick(), two.tick()) == (True, False)
    assert spec(kube) == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.000006Z",
        "renewTime": "2026-01-02T03:04:05.000006Z",
        "leaseTransitions": 0,
    }
    assert two.holder == "one"
    clock.now = 2.0
    assert one.tick()
    one.release()
    assert (one.leading, spec(kube)["holderIdentity"], spec(kube)["leaseDurationSeconds"]) == (False, "", 1)
    assert two.tick(), "a released Lease is free at once"
    assert (spec(kube)["holderIdentity"], spec(kube)["leaseTransitions"]) == ("two", 1)


def test_a_dead_leader_is_replaced_after_the_duration_and_not_before(kube: KubeServer) -> None:
    clock = Clock()
    one, two = candidate(cluster(kube), "one", clock), candidate(cluster(kube), "two", clock)
    one.tick()
    two.tick()
    leads = {}
    for now in (9.9, 10.0):
        clock.now = now
        leads[now] = one.leading
    assert leads == {9.9: True, 10.0: False}
    clock.now = 14.9
    assert not two.tick()
    clock.now = 15.0
    assert two.tick()
    assert not one.tick()
    with pytest.raises(ActuatorError, match="does not lead any more; two does") as error:
        one.require()
    assert not error.value.retry
    two.require()


def test_who_comes_late_waits_for_its_own_clock(kube: KubeServer) -> None:
    """What the Lease says about time is another machine's; only a standstill of 15 s on the own clock counts."""
    one = candidate(cluster(kube), "one", Clock())
    one.tick()
    clock = Clock(offset=1e6)
    two = candidate(cluster(kube), "two", clock)
    assert not two.tick()
    clock.now = 14.0
    assert not two.tick()
    clock.now = 15.0
    assert two.tick()


def test_an_unreachable_api_costs_the_lead(kube: KubeServer) -> None:
    clock = Clock()
    one = candidate(cluster(kube, tries=1), "one", clock)
    one.tick()
    clock.now = 8.0
    kube.faults.append(Fault(503))
    assert one.tick(), "it may act until its deadline"
    assert "503" in one.trouble
    clock.now = 10.0
    kube.faults.append(Fault(503))
    assert not one.tick()
    assert one.tick(), "the Lease is still its own"
    assert one.trouble == ""


def test_a_renewal_whose_answer_was_lost_counts_when_it_is_seen(kube: KubeServer) -> None:
    clock = Clock()
    one = candidate(cluster(kube, tries=1), "one", clock)
    one.tick()
    clock.now = 5.0
    kube.faults.append(Fault(504, after=True, verbs=("update",)))
    one.tick()
    clock.now = 10.0
    assert not one.leading
    assert one.tick()


def test_a_lease_that_somebody_takes_away_is_lost_at_once(kube: KubeServer) -> None:
    clock = Clock()
    one = candidate(cluster(kube), "one", clock)
    one.tick()
    kube.objects.edit(KEY, lambda found: found["spec"].update(holderIdentity="a person"), "kubectl-edit")
    clock.now = 2.0
    assert not one.tick()
    assert one.holder == "a person"


def test_a_lost_race_is_no_trouble(kube: KubeServer) -> None:
    clock = Clock()
    one, two = candidate(cluster(kube), "one", clock), candidate(cluster(kube), "two", clock)
    kube.before_write = _other_first(kube, two)
    assert not one.tick()
    assert one.trouble == ""
    assert two.leading


def _other_first(kube: KubeServer, other: LeaseElection) -> Any:
    """The other candidate creates the Lease while this one is about to."""

    def act() -> None:
        other._won(kube.objects.create(KEY, other._new(), "other"), 0.0)

    return act


def test_another_holder_is_seen_and_nothing_is_released(kube: KubeServer) -> None:
    clock = Clock()
    one, two = candidate(cluster(kube), "one", clock), candidate(cluster(kube), "two", clock)
    one.tick()
    two.tick()
    clock.now = 15.0
    two.tick()
    one.release()
    assert spec(kube)["holderIdentity"] == "two"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"duration_s": 12}, "must not exceed duration_s together"),
        ({"retry_s": 10.0}, "retry_s must be above 0 and below"),
        ({"retry_s": 0.0}, "retry_s must be above 0 and below"),
    ],
)
def test_times_that_are_not_safe(changes: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        LeaseTimes(**changes)


def test_the_leader_keeps_its_lease_in_the_background(kube: KubeServer) -> None:
    times = LeaseTimes(retry_s=0.01)
    clock = Clock()
    election = LeaseElection(cluster(kube), NAMESPACE, "fallback", "one", clock=clock, wall=wall, times=times)
    leader = LeaseLeader(election)
    assert leader.lead(0.0) == (True, "this controller leads")
    while sum(call.verb == "update" for call in kube.calls) < 2:
        threading.Event().wait(0.005)
    leader.require()
    clock.now = 1e6
    leader.close()
    assert spec(kube)["holderIdentity"] == ""
    assert leader.lead(0.0)[0] is False
    with pytest.raises(ActuatorError, match="does not lead any more"):
        leader.require()


def test_a_second_controller_says_who_leads(kube: KubeServer) -> None:
    candidate(cluster(kube), "one", Clock()).tick()
    leader = LeaseLeader(candidate(cluster(kube), "two", Clock()))
    assert leader.lead(0.0) == (False, "one leads")
    leader.close()
    assert spec(kube)["holderIdentity"] == "one"


@dataclass
class Direct:
    """The API without HTTP, for many lives of candidates; it can be out of reach, or lose an answer."""

    objects: KubeObjects
    reach: str = "fine"
    calls: list[str] = field(default_factory=list)

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        return self._do(lambda: self.objects.get((resource.plural, namespace, name)))

    def labelled(self, resource: Resource, namespace: str, labels: Mapping[str, str]) -> list[Json]:
        raise NotImplementedError

    def apply(self, resource: Resource, body: Json, *, force: bool) -> Json:
        raise NotImplementedError

    def create(self, resource: Resource, body: Json) -> Json:
        assert resource == LEASES
        return self._write(lambda: self.objects.create(KEY, body, "x"))

    def replace(self, resource: Resource, body: Json) -> Json:
        assert resource == LEASES
        return self._write(lambda: self.objects.replace(KEY, body, "x"))

    def _write(self, act: Any) -> Json:
        if self.reach == "reads only":
            raise ActuatorError("out of reach", retry=True)
        found = self._do(act)
        if self.reach == "answers lost":
            raise ActuatorError("no answer", retry=True)
        return found

    def _do(self, act: Any) -> Json:
        if self.reach == "none":
            raise ActuatorError("out of reach", retry=True)
        try:
            found: Json = act()
        except RefusedError as refused:
            raise (MissingError if refused.code == 404 else ConflictError)(str(refused)) from refused
        return found


def time_of_day() -> Iterator[datetime]:
    """Moments, each a microsecond after the last: no two renewals look the same."""
    for at in count():
        yield wall() + timedelta(microseconds=at)


STEPS = st.lists(
    st.tuples(
        st.floats(0.0, 6.0),
        st.integers(0, 2),
        st.sampled_from(["fine", "fine", "fine", "none", "reads only", "answers lost", "release"]),
    ),
    max_size=60,
)


@given(STEPS, st.lists(st.floats(0.9, 1.1), min_size=3, max_size=3))
def test_there_are_never_two_leaders(steps: list[tuple[float, int, str]], rates: list[float]) -> None:
    """Whatever the order of looks, losses and releases, with clocks that differ in time and up to 10 % in speed."""
    objects = KubeObjects()
    clocks = [Clock(offset=1000.0 * at, rate=rate) for at, rate in enumerate(rates)]
    apis = [Direct(objects) for _ in clocks]
    moments = time_of_day()
    all_of = [
        candidate(api, str(at), clock, lambda: next(moments))
        for at, (api, clock) in enumerate(zip(apis, clocks, strict=True))
    ]
    for wait, who, what in steps:
        for clock in clocks:
            clock.now += wait
        assert sum(one.leading for one in all_of) <= 1
        apis[who].reach = "fine" if what == "release" else what
        if what == "release":
            all_of[who].release()
        else:
            all_of[who].tick()
        assert sum(one.leading for one in all_of) <= 1
    for api in apis:
        api.reach = "fine"
    for _ in range(20):
        for clock in clocks:
            clock.now += 2.0
        for one in all_of:
            one.tick()
        assert sum(one.leading for one in all_of) <= 1
    assert sum(one.leading for one in all_of) == 1, "and soon there is one"
