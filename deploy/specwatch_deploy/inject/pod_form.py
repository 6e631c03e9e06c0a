"""Whether a pod's spec has the form that the injection reads: what it walks through must be lists and mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_LISTS_OF_MAPPINGS: Final = ("containers", "initContainers", "volumes")
_OF_A_CONTAINER: Final[tuple[tuple[str, type], ...]] = (
    ("command", list),
    ("args", list),
    ("ports", list),
    ("resources", dict),
)


def malformed(spec: Mapping[str, Any]) -> str | None:
    """What is not as Kubernetes has it, in a few words; None if nothing is."""
    for key in _LISTS_OF_MAPPINGS:
        if not _list_of_mappings(spec.get(key)):
            return f"{key} is no list of mappings"
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        if wrong := _malformed_container(container):
            return f"{wrong} of container {container.get('name')}"
    return None


def _malformed_container(container: Mapping[str, Any]) -> str | None:
    for key, kind in _OF_A_CONTAINER:
        if not isinstance(container.get(key) or kind(), kind):
            return f"{key} is no {'list' if kind is list else 'mapping'}, that"
    if not _list_of_mappings(container.get("ports")):
        return "ports is no list of mappings, that"
    resources = container.get("resources") or {}
    wrong = [part for part in ("limits", "requests") if not isinstance(resources.get(part) or {}, Mapping)]
    return f"resources.{wrong[0]} is no mapping, that" if wrong else None


def _list_of_mappings(value: Any) -> bool:
    return isinstance(value or [], list) and all(isinstance(one, Mapping) for one in value or [])
