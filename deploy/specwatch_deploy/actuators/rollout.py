"""One pool: restart the engines of a Deployment with other speculative settings."""

from __future__ import annotations

import time
from collections.abc import Callable

from specwatch_deploy.actuators.applied_object import AppliedObject, Change
from specwatch_deploy.actuators.cluster import DEPLOYMENTS, Cluster, Json
from specwatch_deploy.actuators.moved_health import HealthWatch, Unwatched
from specwatch_deploy.actuators.movement import checked_shares, only_level, planned
from specwatch_deploy.actuators.permission import Permission
from specwatch_deploy.actuators.rollout_status import rollout_status
from specwatch_deploy.actuators.spec_place import SpecPlace
from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position, Shares
from specwatch_detectors.fallback.level import Level


class Rollout:
    """An `Actuator`: no engine can change its drafter at run time, so its pods are replaced, one after the other.

    Args:
        cluster: where the Deployment is.
        namespace: of it.
        deployment: its name.
        place: where it says how to speculate.
        force: take the setting over from whoever manages it.
        health: watches what is moved; None measures nothing.
        pause: waits after a conflict, seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        deployment: str,
        place: SpecPlace,
        *,
        force: bool = False,
        health: HealthWatch | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._place = place
        self._health = health or Unwatched()
        self._object = AppliedObject(cluster, DEPLOYMENTS, namespace, deployment, force=force, pause=pause)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels that have a setting."""
        return self._place.levels

    @property
    def steps(self) -> tuple[float, ...]:
        """All or nothing: the Deployment's own strategy makes the steps."""
        return (1.0,)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What is called: the Deployment, by name."""
        return self._object.permissions

    def describe(self) -> Position:
        """The level that is set; settled once every pod runs with it."""
        return self._position(self._object.read())

    def plan(self, shares: Shares) -> Plan:
        """The whole list of arguments (or the volume), with the other setting."""
        level = only_level(shares, self.levels)
        deployment = self._object.read()
        change = self._change(deployment, level)
        sent = [] if change is None else [self._object.sent(deployment, change)]
        before = self._all_of(self._place.level(deployment))
        foreign = self._object.foreign(deployment, self._place.field(deployment))
        return planned(
            str(self._object), before, self._all_of(level), sent, foreign, self._place.former(deployment)
        )

    def apply(self, plan: Plan) -> None:
        """Set the level; Kubernetes then replaces the pods."""
        level = only_level(plan.shares, self.levels)
        self._object.move(lambda deployment: self._change(deployment, level))
        self._health.moved(plan.before, plan.shares)

    def verify(self, plan: Plan) -> Position:
        """Settled once every pod runs with the plan's setting.

        Raises:
            ActuatorError: the rollout has failed (ProgressDeadlineExceeded) and must be undone; `retry` is False.
        """
        deployment = self._object.read()
        found = self._position(deployment)
        if found.shares != checked_shares(plan.shares, self.levels):
            return Position(
                found.shares, settled=False, foreign=found.foreign, note="the setting is not the plan's"
            )
        status = rollout_status(deployment)
        if status.failed:
            raise ActuatorError(f"{self._object}: the rollout failed: {status.words}", retry=False)
        return found

    def health(self) -> Health:
        """Of the level that was set, since all its pods are there."""
        return self._health.health()

    def undo(self, plan: Plan) -> None:
        """Set what was there before, to the letter where the plan still knows it."""
        level = only_level(plan.before, self.levels)
        kept = plan.changes[0]["before"] if plan.changes else {}

        def back(deployment: Json) -> Change | None:
            if self._place.level(deployment) is level:
                return None
            if kept.get("level") == level.value:
                pod = self._place.restored(deployment, kept)
            else:
                pod = self._place.pod(deployment, level)
            return self._as_change(deployment, pod, None, level)

        self._object.move(back)
        self._health.moved(plan.shares, plan.before)

    def _change(self, deployment: Json, level: Level) -> Change | None:
        now = self._place.level(deployment)
        if now is level:
            return None
        before = {"level": now.value, **self._place.former(deployment)}
        return self._as_change(deployment, self._place.pod(deployment, level), before, level)

    def _as_change(self, deployment: Json, pod: Json, before: Json | None, level: Level) -> Change:
        fields = {"spec": {"template": {"spec": pod}}}
        return Change(fields, self._place.field(deployment), before, level is self.levels[0])

    def _position(self, deployment: Json) -> Position:
        status = rollout_status(deployment)
        foreign = self._object.foreign(deployment, self._place.field(deployment))
        level = self._place.level(deployment)
        return Position(self._all_of(level), settled=status.done, foreign=foreign, note=status.words)

    def _all_of(self, level: Level) -> dict[Level, float]:
        return {one: float(one is level) for one in self.levels}
