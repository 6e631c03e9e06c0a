"""Who manages a field of an object, read from `metadata.managedFields` (Kubernetes' FieldsV1 format)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from specwatch_deploy.actuators.cluster import Json

FieldPath = tuple[str, ...]
"""Keys of FieldsV1 from the top: `f:spec`, `f:containers`, `k:{"name":"engine"}`, `f:args`."""

KNOWN: Final = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "fleetagent": "Rancher Fleet",
    "helm": "Helm",
    "kubectl": "somebody with kubectl",
    "kubectl-client-side-apply": "somebody with kubectl apply",
    "kubectl-edit": "somebody with kubectl edit",
    "kubectl-patch": "somebody with kubectl patch",
}
"""Field managers that people meet; each tool's own default name."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One manager of a field.

    Attributes:
        name: of the field manager.
        at: when it last changed something, RFC 3339, or empty.
    """

    name: str
    at: str = ""

    @property
    def words(self) -> str:
        """The name, with what it is where that is known."""
        return f"{self.name} ({KNOWN[self.name]})" if self.name in KNOWN else self.name


def owners(found: Json, field: FieldPath) -> list[Owner]:
    """Managers of a field or of anything under it; what is managed through a subresource does not count."""
    entries = found.get("metadata", {}).get("managedFields") or []
    return [
        Owner(str(entry.get("manager", "")), str(entry.get("time", "")))
        for entry in entries
        if not entry.get("subresource") and _holds(entry.get("fieldsV1"), field)
    ]


def owned_by(found: Json, field: FieldPath, manager: str) -> bool:
    """Whether this manager is one of them."""
    return any(owner.name == manager for owner in owners(found, field))


def _holds(fields: Any, path: FieldPath) -> bool:
    for step in path:
        if not isinstance(fields, dict):
            return False
        found = next((key for key in fields if _same(key, step)), None)
        if found is None:
            return False
        fields = fields[found]
    return True


def _same(key: str, step: str) -> bool:
    """Equal, or the same key of a list whatever the spelling of its JSON."""
    if key == step or not (key.startswith("k:") and step.startswith("k:")):
        return key == step
    try:
        return bool(json.loads(key[2:]) == json.loads(step[2:]))
    except ValueError:
        return False
