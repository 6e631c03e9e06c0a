"""The Role that lets the actuators do what they do, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from specwatch_deploy.actuators.cluster import Json
from specwatch_deploy.actuators.permission import Permission
from specwatch_deploy.actuators.yaml_text import yaml_text


def role(name: str, namespace: str, permissions: Iterable[Permission]) -> Json:
    """A Role of one namespace from the calls that are made; `resourceNames` wherever a call names its object."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": _rules(permissions),
    }


def role_binding(name: str, namespace: str, service_account: str) -> Json:
    """Gives the Role of the same name to a ServiceAccount of the same namespace."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": service_account, "namespace": namespace}],
    }


def role_text(name: str, namespace: str, permissions: Iterable[Permission]) -> str:
    """The Role as YAML, to print or to apply."""
    return yaml_text(role(name, namespace, permissions))


def _rules(permissions: Iterable[Permission]) -> list[Json]:
    def place(wanted: Permission) -> tuple[str, str, str]:
        return wanted.group, wanted.plural, wanted.name

    rules: list[Json] = []
    for (group, plural, name), same in groupby(sorted(set(permissions), key=place), key=place):
        named = {"resourceNames": [name]} if name else {}
        verbs = sorted(wanted.verb for wanted in same)
        rules.append({"apiGroups": [group], "resources": [plural], **named, "verbs": verbs})
    return rules
