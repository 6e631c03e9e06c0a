"""Light or dark."""

from __future__ import annotations

from enum import StrEnum


class Look(StrEnum):
    """A page's colours; `auto` follows the reader's system."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"
