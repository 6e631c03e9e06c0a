"""What an actuator calls, as data; the Role is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specwatch_deploy.actuators.cluster import Resource

Verb = Literal["get", "list", "create", "update", "patch"]


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """One kind of call.

    Attributes:
        group: API group, empty for the core.
        plural: resource.
        verb: of Kubernetes authorisation; server-side apply is `patch`.
        name: of the one object; empty where Kubernetes cannot restrict by name (list, create).
    """

    group: str
    plural: str
    verb: Verb
    name: str = ""


def permissions(resource: Resource, *verbs: Verb, name: str = "") -> tuple[Permission, ...]:
    """Permissions for some verbs on one kind of object."""
    return tuple(Permission(resource.group, resource.plural, verb, name) for verb in verbs)
