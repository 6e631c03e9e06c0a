"""What this manager already manages of an object.

Server-side apply removes what a manager had applied before and leaves out now. So every apply sends all of it,
as it stands, with the change over it.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

from specwatch_deploy.actuators.cluster import FIELD_MANAGER, Json

KEYED: Final = frozenset({"containers", "volumes"})
"""Lists of what is changed here that Kubernetes merges by `name`; all others are replaced whole."""


def kept_fields(found: Json) -> Json:
    """Fields that this manager has applied, with the values that they have now."""
    kept: Json = {}
    for entry in found["metadata"].get("managedFields") or []:
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply":
            kept = overlaid(kept, _values(entry.get("fieldsV1") or {}, found))
    return kept


def overlaid(base: Any, change: Any, key: str = "") -> Any:
    """One value over another, as server-side apply merges them."""
    if isinstance(base, dict) and isinstance(change, dict):
        both = dict(base)
        for name, value in change.items():
            both[name] = overlaid(base[name], value, name) if name in base else deepcopy(value)
        return both
    if isinstance(base, list) and isinstance(change, list) and key in KEYED:
        new = {item["name"]: item for item in change}
        merged = [overlaid(item, new.pop(item["name"], {})) for item in base]
        return merged + [deepcopy(item) for item in new.values()]
    return deepcopy(change)


def _values(fields: Json, found: Any) -> Any:
    """The part of a value that a field set names."""
    steps = {step: inner for step, inner in fields.items() if step != "."}
    if not steps:
        return deepcopy(found)
    if all(step.startswith("k:") for step in steps):
        return [item for step, inner in steps.items() for item in _item(json.loads(step[2:]), inner, found)]
    names = {step[2:]: inner for step, inner in steps.items() if step.startswith("f:")}
    return {name: _values(inner, found[name]) for name, inner in names.items() if name in found}


def _item(key: Json, fields: Json, found: list[Json]) -> list[Json]:
    """One item of a list that is merged by key: its key, and what is named of it."""
    return [
        {**key, **_values({**fields, **{f"f:{name}": {} for name in key}}, item)}
        for item in found
        if all(item.get(name) == value for name, value in key.items())
    ]
