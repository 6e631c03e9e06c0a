"""Decode JSON that comes from elsewhere: anything that is not JSON is None, however deep or odd."""

from __future__ import annotations

import json
from typing import Any


def decode(text: str | bytes) -> Any:
    """The decoded value, or None if the text is not JSON or is nested beyond reason."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
