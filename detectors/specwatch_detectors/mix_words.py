"""Words for what a verdict on the mix of traffic leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_WORTH_SAYING: Final = 0.01
"""Share of drafts from which a class is named."""


def unheard(silence: float, *, unreadable: bool) -> str:
    """Nothing has been heard of classes.

    Args:
        silence: for how long, seconds.
        unreadable: their counts cannot be read; otherwise nobody reports any.
    """
    what = "counts of classes have been unreadable" if unreadable else "no class has been reported"
    return f"{what} for {silence / 60.0:.0f} min, so that a change of mix cannot be told from drift"


def named(shares: Mapping[str, float]) -> str:
    """Classes with their share of the drafts, 0 to 1."""
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share >= _WORTH_SAYING)


def unsaid(young: Mapping[str, float], silence: float | None) -> str:
    """What a verdict does not include, in brackets behind it; empty if it includes everything.

    Args:
        young: classes without a baseline from before, with their share of the drafts.
        silence: seconds since anything was heard of classes, or None.
    """
    names = named(young)
    parts = [f"{names} not judged, too young"] if names else []
    if silence is not None:
        parts.append(f"nothing new of classes for {silence / 60.0:.0f} min")
    return f" ({'; '.join(parts)})" if parts else ""
