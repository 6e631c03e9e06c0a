"""Whether a gateway has taken an HTTPRoute as it is now."""

from __future__ import annotations

from typing import Final

from specwatch_deploy.actuators.cluster import Json

CONDITIONS: Final = ("Accepted", "ResolvedRefs")
"""What a gateway says about a route (Gateway API v1, RouteParentStatus)."""


def route_trouble(route: Json) -> str:
    """What keeps the route from being in force, or empty: every gateway must have said yes to this generation."""
    parents = (route.get("status") or {}).get("parents") or []
    if not parents:
        return "no gateway has looked at the route yet"
    generation = int(route["metadata"].get("generation", 0))
    return next((trouble for parent in parents if (trouble := _parent_trouble(parent, generation))), "")


def _parent_trouble(parent: Json, generation: int) -> str:
    name = (parent.get("parentRef") or {}).get("name", "a gateway")
    found = {one.get("type"): one for one in parent.get("conditions") or []}
    for kind in CONDITIONS:
        condition = found.get(kind)
        if condition is None or int(condition.get("observedGeneration", 0)) < generation:
            return f"{name} has not looked at the last change yet ({kind})"
        if condition.get("status") != "True":
            return f"{name}: {kind} is {condition.get('status')}, {condition.get('reason', 'no reason given')}"
    return ""
