"""Typed access to JSON that a stranger sent: what has the wrong type is unknown, and nothing raises."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MAX_COUNT = 2**53
MAX_LIST = 100_000
MAX_TEXT = 512


def count(value: object) -> int | None:
    """A whole number from 0 to 2**53; `43.0` is one, `true` and `"43"` are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if 0 <= value <= MAX_COUNT else None


def number(value: object) -> float | None:
    """A finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MAX_COUNT and math.isfinite(value) else None


def counts(value: object) -> tuple[int, ...]:
    """A list of counts; empty if it is missing, too long, or any of it is not a count."""
    if not isinstance(value, list) or len(value) > MAX_LIST:
        return ()
    known = [whole for whole in map(count, value) if whole is not None]
    return tuple(known) if len(known) == len(value) else ()


def name(value: object) -> str | None:
    """A string that is not empty, cut to 512 characters."""
    return value[:MAX_TEXT] if isinstance(value, str) and value else None


def mapping(value: object) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list, or none."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def first_count(fields: Mapping[str, Any], *names: str) -> int | None:
    """The first of several fields that holds a count."""
    return next((whole for whole in (count(fields.get(key)) for key in names) if whole is not None), None)
