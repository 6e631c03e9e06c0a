"""JSON values as block YAML, the way people read manifests; written here because the core has no YAML library."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*\Z")
"""Strings that need no quotes, but for the words in `WORDS`."""
WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})


def yaml_text(value: Any) -> str:
    """A JSON value as YAML 1.1, which is also 1.2; ends with a newline.

    Raises:
        TypeError: it is no JSON value.
    """
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [line for key, item in value.items() for line in _entry(f"{_scalar(key)}:", item)]
    if _is_list(value) and value:
        return [line for item in value for line in _item(item)]
    return [_scalar(value)]


def _entry(key: str, value: Any) -> list[str]:
    inner = _lines(value)
    if isinstance(value, Mapping) and value:
        return [key, *(f"  {line}" for line in inner)]
    if _is_list(value) and value:
        return [key, *inner]
    return [f"{key} {inner[0]}"]


def _item(value: Any) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.match(value) and value.lower() not in WORDS:
        return value
    if isinstance(value, str):
        return '"' + "".join(_character(one) for one in value) + '"'
    return json.dumps(value, allow_nan=False)


def _character(one: str) -> str:
    """A character between double quotes, where YAML has escapes for what JSON needs two for."""
    if ord(one) > 0xFFFF:
        return f"\\U{ord(one):08X}"
    return json.dumps(one)[1:-1] if one != "\x7f" else "\\x7F"
