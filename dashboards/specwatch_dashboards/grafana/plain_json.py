"""Plain JSON out of grafanalib's objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def plain(found: Any) -> Any:
    """Dictionaries, lists and scalars of an object of grafanalib; without what is None.

    The first step of a threshold has the value null and keeps it: there it means minus infinity.
    """
    if hasattr(found, "to_json_data"):
        return plain(found.to_json_data())
    if isinstance(found, Mapping):
        step = "color" in found and "value" in found
        return {key: plain(value) for key, value in found.items() if value is not None or (step and key == "value")}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    return found


def merged(*parts: Mapping[str, Any]) -> Json:
    """One dictionary of several, the later ones over the earlier ones; dictionaries inside are merged as well."""
    whole: Json = {}
    for part in parts:
        for key, value in part.items():
            below = whole.get(key)
            whole[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return whole
