"""Pools behind one route: shift traffic by the weights of a Gateway API HTTPRoute."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from specwatch_deploy.actuators.applied_object import AppliedObject, Change
from specwatch_deploy.actuators.cluster import HTTP_ROUTES, Cluster, Json
from specwatch_deploy.actuators.moved_health import HealthWatch, Unwatched
from specwatch_deploy.actuators.movement import checked_shares, planned, same_shares
from specwatch_deploy.actuators.permission import Permission
from specwatch_deploy.actuators.ready_pods import ENDPOINT_PERMISSIONS, ready_endpoints
from specwatch_deploy.actuators.route_status import route_trouble
from specwatch_deploy.actuators.route_weights import RouteRule, split
from specwatch_detectors.fallback.actuator import ActuatorError, Health, Plan, Position, Shares
from specwatch_detectors.fallback.level import Level

FIELD: Final = ("f:spec", "f:rules")
"""The rules of an HTTPRoute are an atomic list (Gateway API v1 types): weights cannot be managed one by one."""
STEPS: Final = (0.05, 0.25, 1.0)


class HttpRoutePools:
    """An `Actuator`: one Service per level among the backendRefs of one rule.

    Args:
        cluster: where the route is.
        namespace: of the route and of the Services.
        route: name of the HTTPRoute.
        services: by level, `name` or `name:port` of its Service.
        rule: name of the rule; empty for the only one that has all the Services.
        steps: shares of a new level on the way to all.
        force: take the rules over from whoever manages them.
        least_ready: ready endpoints that a level must have before it is given more traffic.
        health: watches what is moved; None measures nothing.
        pause: waits after a conflict, seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        route: str,
        services: Mapping[Level, str],
        *,
        rule: str = "",
        steps: tuple[float, ...] = STEPS,
        force: bool = False,
        least_ready: int = 1,
        health: HealthWatch | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._services = dict(sorted(services.items(), key=lambda pair: pair[0].depth))
        self._rule = rule
        self._steps = steps
        self._least_ready = least_ready
        self._health = health or Unwatched()
        self._object = AppliedObject(cluster, HTTP_ROUTES, namespace, route, force=force, pause=pause)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels that have a Service."""
        return tuple(self._services)

    @property
    def steps(self) -> tuple[float, ...]:
        """Shares of a new level on the way to all."""
        return self._steps

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What is called: the route by name, and EndpointSlices, which can only be listed."""
        return self._object.permissions + ENDPOINT_PERMISSIONS

    def describe(self) -> Position:
        """Weights of the rule; settled once every gateway has accepted them."""
        return self._position(self._object.read())

    def plan(self, shares: Shares) -> Plan:
        """The weights, with all that is applied with them."""
        wanted = checked_shares(shares, self.levels)
        route = self._object.read()
        rule = self._in(route)
        change = self._change(route, wanted)
        sent = [] if change is None else [self._object.sent(route, change)]
        foreign = self._object.foreign(route, FIELD)
        return planned(str(self._object), rule.shares, wanted, sent, foreign, route["spec"]["rules"])

    def apply(self, plan: Plan) -> None:
        """Set the weights; refused while a level that is to get more has too few ready endpoints."""
        wanted = checked_shares(plan.shares, self.levels)
        self._object.move(lambda route: self._checked(route, self._change(route, wanted), wanted))
        self._health.moved(plan.before, plan.shares)

    def verify(self, plan: Plan) -> Position:
        """Settled once the weights are the plan's, the gateways took them and each level can serve its share."""
        route = self._object.read()
        found = self._position(route)
        within = 0.5 / self._in(route).total
        if not same_shares(found.shares, plan.shares, within):
            return Position(
                found.shares, settled=False, foreign=found.foreign, note="the weights are not the plan's"
            )
        if not found.settled:
            return found
        lacking = self._lacking({level for level, share in found.shares.items() if share > 0.0})
        return found if not lacking else Position(found.shares, settled=False, foreign=found.foreign, note=lacking)

    def health(self) -> Health:
        """Of every level that gained traffic."""
        return self._health.health()

    def undo(self, plan: Plan) -> None:
        """Set the former weights, as the very numbers that they were where the plan still knows them."""
        before = checked_shares(plan.before, self.levels)

        def back(route: Json) -> Change | None:
            rule = self._in(route)
            weights = self._former(plan, before) or split(before, rule.total)
            if rule.weights == weights:
                return None
            fields = {"spec": {"rules": rule.with_weights(weights)}}
            return self._checked(route, Change(fields, FIELD, None, self._is_home(before)), before)

        self._object.move(back)
        self._health.moved(plan.shares, plan.before)

    def _change(self, route: Json, wanted: Shares) -> Change | None:
        rule = self._in(route)
        total = rule.total
        if same_shares(rule.shares, wanted, 0.5 / total):
            return None
        before = {self._services[level]: weight for level, weight in rule.weights.items()}
        fields = {"spec": {"rules": rule.with_weights(split(wanted, total))}}
        return Change(fields, FIELD, before, self._is_home(wanted))

    def _is_home(self, shares: Shares) -> bool:
        return same_shares(shares, {self.levels[0]: 1.0})

    def _former(self, plan: Plan, before: Shares) -> dict[Level, int] | None:
        """Weights as they were, if they are what `before` asks for: the controller may ask for an earlier state."""
        kept = plan.changes[0]["before"] if plan.changes else {}
        weights = {level: int(kept[service]) for level, service in self._services.items() if service in kept}
        total = sum(weights.values())
        if len(weights) != len(self._services) or not total:
            return None
        were = {level: weight / total for level, weight in weights.items()}
        return weights if same_shares(were, before) else None

    def _checked(self, route: Json, change: Change | None, wanted: Shares) -> Change | None:
        """The change, unless a level that is to get more cannot serve it."""
        if change is None:
            return None
        now = self._in(route).shares
        lacking = self._lacking({level for level in self.levels if wanted[level] > now[level]})
        if lacking:
            raise ActuatorError(f"{self._object} is left as it is: {lacking}", retry=True)
        return change

    def _lacking(self, levels: set[Level]) -> str:
        """Which of these levels has too few ready endpoints, in words, or empty."""
        for level in sorted(levels, key=lambda one: one.depth):
            service = self._services[level].partition(":")[0]
            ready = len(ready_endpoints(self._cluster, self._namespace, service))
            if ready < self._least_ready:
                return f"Service {service} for {level.words} has {ready} ready endpoints of {self._least_ready}"
        return ""

    def _position(self, route: Json) -> Position:
        rule = self._in(route)
        trouble = route_trouble(route)
        notes = [trouble] if trouble else []
        if rule.elsewhere:
            share = rule.elsewhere / (sum(rule.weights.values()) + rule.elsewhere)
            notes.append(f"{share:.0%} of the rule's traffic goes to other backends")
        foreign = self._object.foreign(route, FIELD)
        return Position(rule.shares, settled=not trouble, foreign=foreign, note="; ".join(notes))

    def _in(self, route: Json) -> RouteRule:
        return RouteRule(route, self._services, self._rule)
