"""Field sets of server-side apply: what an object's fields are, who manages them, and how two objects merge.

The rules are Kubernetes': a list is atomic unless its schema names keys, and the schemas used here name them for
the lists below (core/v1, apps/v1). In Gateway API v1 every list of an HTTPRoute's spec is atomic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

Json = dict[str, Any]
Path = tuple[str, ...]
ITEM = "."

POD = ("spec", "template", "spec")
KEYED: dict[str, dict[Path, tuple[str, ...]]] = {
    "Deployment": {
        (*POD, "containers"): ("name",),
        (*POD, "containers", "env"): ("name",),
        (*POD, "containers", "ports"): ("containerPort", "protocol"),
        (*POD, "containers", "volumeMounts"): ("mountPath",),
        (*POD, "volumes"): ("name",),
    },
    "Service": {("spec", "ports"): ("port", "protocol")},
}
ATOMIC_MAPS: dict[str, set[Path]] = {
    "Service": {("spec", "selector")},
    "Deployment": {("spec", "selector")},
}
UNMANAGED = {"name", "namespace", "resourceVersion", "generation", "uid", "managedFields", "creationTimestamp"}


def leaves(kind: str, found: Json) -> dict[Path, Any]:
    """Every field that can be managed, with its value."""
    spec = {key: value for key, value in found.items() if key not in {"apiVersion", "kind", "metadata"}}
    metadata = {key: value for key, value in found.get("metadata", {}).items() if key not in UNMANAGED}
    return _leaves(kind, {**spec, **({"metadata": metadata} if metadata else {})}, (), ())


def merged(kind: str, current: Any, applied: Any, place: Path = ()) -> Any:
    """The current object with what is applied over it."""
    if isinstance(applied, dict) and isinstance(current, dict) and place not in ATOMIC_MAPS.get(kind, set()):
        both = deepcopy(current)
        for key, value in applied.items():
            both[key] = merged(kind, current[key], value, (*place, key)) if key in current else deepcopy(value)
        return both
    keys = KEYED.get(kind, {}).get(place)
    if isinstance(applied, list) and isinstance(current, list) and keys:
        return _merged_items(kind, current, applied, place, keys)
    return deepcopy(applied)


def without(found: Json, gone: Iterable[Path]) -> Json:
    """The object without these fields."""
    left = deepcopy(found)
    for path in sorted(gone, key=len, reverse=True):
        _remove(left, path)
    return left


def fields_v1(paths: Iterable[Path]) -> Json:
    """As `managedFields` spells a field set."""
    tree: Json = {}
    for path in sorted(paths):
        node = tree
        for step in path:
            node = node.setdefault(step if step == ITEM or step.startswith("k:") else f"f:{step}", {})
    return tree


def shown(path: Path) -> str:
    """As the API server spells a field in a conflict."""
    return "".join(f"[{step[2:]}]" if step.startswith("k:") else f".{step}" for step in path)


def _leaves(kind: str, value: Any, path: Path, place: Path) -> dict[Path, Any]:
    if isinstance(value, dict) and value and place not in ATOMIC_MAPS.get(kind, set()):
        found: dict[Path, Any] = {}
        for key, item in value.items():
            found |= _leaves(kind, item, (*path, key), (*place, key))
        return found
    keys = KEYED.get(kind, {}).get(place)
    if isinstance(value, list) and value and keys:
        found = {}
        for item in value:
            here = (*path, _key(item, keys))
            found |= {(*here, ITEM): None} | _leaves(kind, item, here, place)
        return found
    return {path: value}


def _merged_items(
    kind: str, current: list[Any], applied: list[Any], place: Path, keys: tuple[str, ...]
) -> list[Any]:
    new = {_key(item, keys): item for item in applied}
    both = [
        _merged_item(kind, item, new.pop(key), place) if (key := _key(item, keys)) in new else deepcopy(item)
        for item in current
    ]
    return both + [deepcopy(item) for item in new.values()]


def _merged_item(kind: str, current: Json, applied: Json, place: Path) -> Json:
    both = deepcopy(current)
    for key, value in applied.items():
        both[key] = merged(kind, current[key], value, (*place, key)) if key in current else deepcopy(value)
    return both


def _key(item: Json, keys: tuple[str, ...]) -> str:
    defaults = {"protocol": "TCP"}
    return "k:" + json.dumps({key: item.get(key, defaults.get(key)) for key in keys}, separators=(",", ":"))


def _remove(node: Any, path: Path) -> None:
    for step in path[:-1]:
        if step.startswith("k:"):
            wanted = json.loads(step[2:])
            node = next((one for one in node if all(one.get(key) == value for key, value in wanted.items())), None)
        else:
            node = node.get(step) if isinstance(node, dict) else None
        if node is None:
            return
    if isinstance(node, dict) and path[-1] != ITEM:
        node.pop(path[-1], None)
