"""Kubernetes' own schemas, strict: an unknown field is a mistake. From the package kubernetes-validate."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

KINDS = {
    "ConfigMap": "configmap-v1",
    "Deployment": "deployment-apps-v1",
    "HorizontalPodAutoscaler": "horizontalpodautoscaler-autoscaling-v2",
    "NetworkPolicy": "networkpolicy-networking-v1",
    "PersistentVolumeClaim": "persistentvolumeclaim-v1",
    "PodDisruptionBudget": "poddisruptionbudget-policy-v1",
    "Role": "role-rbac-v1",
    "RoleBinding": "rolebinding-rbac-v1",
    "Service": "service-v1",
    "ServiceAccount": "serviceaccount-v1",
}


def mistakes(one: dict[str, Any], version: str) -> list[str]:
    """What is wrong with an object of Kubernetes' own, a line each."""
    errors = _validator(KINDS[one["kind"]], version).iter_errors(one)
    name = f"{one['kind']} {one['metadata']['name']}"
    return [f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]


@cache
def _validator(kind: str, version: str) -> Draft7Validator:
    folder = _schemas() / f"v{version}-local-strict"
    schema = json.loads((folder / f"{kind}.json").read_text())
    return Draft7Validator(schema, registry=_definitions(version))


@cache
def _definitions(version: str) -> Registry[Any]:
    path = _schemas() / f"v{version}-local-strict" / "_definitions.json"
    resource: Resource[Any] = DRAFT7.create_resource(json.loads(path.read_text()))
    registry: Registry[Any] = Registry()
    known: Registry[Any] = registry.with_resource("_definitions.json", resource)
    return known


def _schemas() -> Path:
    package = find_spec("kubernetes_validate")
    if package is None or package.origin is None:
        raise RuntimeError("kubernetes-validate is not installed; run: make venv")
    return Path(package.origin).parent / "kubernetes-json-schema"
