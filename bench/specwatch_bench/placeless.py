"""Records without the places of the machine that made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def placeless(value: Any, places: Mapping[str, str]) -> Any:
    """A JSON value with folders replaced by names, longest first.

    Args:
        value: anything that JSON can hold.
        places: folder to name; `/` and what is no absolute path are left alone.
    """
    if isinstance(value, dict):
        return {key: placeless(item, places) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [placeless(item, places) for item in value]
    if isinstance(value, str):
        for folder in sorted(places, key=len, reverse=True):
            if len(folder) > 1 and folder.startswith("/"):
                value = value.replace(folder, places[folder])
    return value
