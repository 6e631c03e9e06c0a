"""Pools behind one Service: send all traffic to another Deployment by one label of the Service's selector."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from specwatch_deploy.actuators.applied_object import AppliedObject, Change
from specwatch_deploy.actuators.cluster import SERVICES, Cluster, Json
from specwatch_deploy.actuators.moved_health import HealthWatch, Unwatched
from specwatch_deploy.actuators.movement import checked_shares, only_level, planned
from specwatch_deploy.actuators.permission import Permission
from specwatch_deploy.actuators.ready_pods import (
    ENDPOINT_PERMISSIONS,
    POD_PERMISSIONS,
    ready_endpoints,
    ready_pods,
)
from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position, Shares
from specwatch_detectors.fallback.level import Level

FIELD: Final = ("f:spec", "f:selector")
"""The selector is an atomic map (core/v1 types): one label of it cannot be managed alone."""


class ServiceSelector:
    """An `Actuator`: each level is the value of one label.

    Args:
        cluster: where the Service is.
        namespace: of the Service and its pods.
        service: its name.
        label: of the selector.
        values: by level, the label's value on the pods of its Deployment.
        force: take the selector over from whoever manages it.
        least_ready: ready pods that a level must have before it is given the traffic.
        health: watches what is moved; None measures nothing.
        pause: waits after a conflict, seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        service: str,
        label: str,
        values: Mapping[Level, str],
        *,
        force: bool = False,
        least_ready: int = 1,
        health: HealthWatch | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._service = service
        self._label = label
        self._values = dict(sorted(values.items(), key=lambda pair: pair[0].depth))
        self._least_ready = least_ready
        self._health = health or Unwatched()
        self._object = AppliedObject(cluster, SERVICES, namespace, service, force=force, pause=pause)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels that have a value of the label."""
        return tuple(self._values)

    @property
    def steps(self) -> tuple[float, ...]:
        """All or nothing."""
        return (1.0,)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What is called: the Service by name; pods and EndpointSlices can only be listed."""
        return self._object.permissions + POD_PERMISSIONS + ENDPOINT_PERMISSIONS

    def describe(self) -> Position:
        """Which pods the Service selects; settled once its ready endpoints are these pods and no others."""
        return self._position(self._object.read())

    def plan(self, shares: Shares) -> Plan:
        """The whole selector, with the other value."""
        level = only_level(shares, self.levels)
        service = self._object.read()
        change = self._change(service, level)
        sent = [] if change is None else [self._object.sent(service, change)]
        before = self._all_of(self._level(service))
        foreign = self._object.foreign(service, FIELD)
        return planned(str(self._object), before, self._all_of(level), sent, foreign, self._selector(service))

    def apply(self, plan: Plan) -> None:
        """Flip the label; refused while the pool that is to get the traffic has too few ready pods."""
        level = only_level(plan.shares, self.levels)
        self._object.move(lambda service: self._change(service, level, check=True))
        self._health.moved(plan.before, plan.shares)

    def verify(self, plan: Plan) -> Position:
        """Settled once the selector is the plan's and the endpoints have followed."""
        found = self.describe()
        wanted = checked_shares(plan.shares, self.levels)
        if found.shares != wanted:
            return Position(
                found.shares, settled=False, foreign=found.foreign, note="the selector is not the plan's"
            )
        return found

    def health(self) -> Health:
        """Of the level that the Service was made to select."""
        return self._health.health()

    def undo(self, plan: Plan) -> None:
        """Flip back."""
        level = only_level(plan.before, self.levels)
        self._object.move(lambda service: self._change(service, level, check=True, back=True))
        self._health.moved(plan.shares, plan.before)

    def _change(self, service: Json, level: Level, *, check: bool = False, back: bool = False) -> Change | None:
        selector = self._selector(service)
        now = self._level(service)
        if now is level:
            return None
        wanted = {**selector, self._label: self._values[level]}
        if check:
            self._check_ready(level, wanted)
        before = None if back else {self._label: self._values[now]}
        return Change({"spec": {"selector": wanted}}, FIELD, before, level is self.levels[0])

    def _check_ready(self, level: Level, selector: Mapping[str, str]) -> None:
        ready = len(ready_pods(self._cluster, self._namespace, selector))
        if ready < self._least_ready:
            raise ActuatorError(
                f"{self._object} is left as it is: the pool of {level.words} ({self._label}={self._values[level]})"
                f" has {ready} ready pods of {self._least_ready}",
                retry=True,
            )

    def _position(self, service: Json) -> Position:
        level = self._level(service)
        pods = ready_pods(self._cluster, self._namespace, self._selector(service))
        endpoints = ready_endpoints(self._cluster, self._namespace, self._service)
        note = ""
        if len(pods) < self._least_ready:
            note = f"{len(pods)} ready pods of {self._least_ready} behind the Service"
        elif not endpoints or not endpoints <= pods:
            note = f"{len(endpoints & pods)} of {len(endpoints)} endpoints have followed the selector"
        foreign = self._object.foreign(service, FIELD)
        return Position(self._all_of(level), settled=not note, foreign=foreign, note=note)

    def _level(self, service: Json) -> Level:
        value = self._selector(service).get(self._label)
        found = next((level for level, one in self._values.items() if one == value), None)
        if found is None:
            raise ActuatorError(
                f"{self._object} selects {self._label}={value}, which is no level's"
                f" ({', '.join(self._values.values())})",
                retry=False,
            )
        return found

    def _selector(self, service: Json) -> dict[str, str]:
        return dict(service.get("spec", {}).get("selector") or {})

    def _all_of(self, level: Level) -> dict[Level, float]:
        return {one: float(one is level) for one in self.levels}
