"""Durations as Prometheus writes them: `90s`, `1h30m`, `3d`."""

from __future__ import annotations

import re

_PARTS = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?")
_SECONDS = (604_800.0, 86_400.0, 3_600.0, 60.0, 1.0, 0.001)


def seconds_of(text: str) -> float:
    """Seconds of a duration such as `1h30m`.

    Raises:
        ValueError: it is not one.
    """
    found = _PARTS.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m or 1h30m")
    return sum(int(part) * each for part, each in zip(found.groups(), _SECONDS, strict=True) if part)
