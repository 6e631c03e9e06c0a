"""How much an alert weighs, by its annotation `urgency` or else by its label `severity`, and the sign for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PAGE: Final = 2
_RANKS: Final = {"page": PAGE, "ticket": 1, "warning": 1, "info": 0, "none": 0}
_SIGNS: Final = {PAGE: ":red_circle:", 1: ":large_yellow_circle:", 0: ":large_blue_circle:"}


def rank(labels: Mapping[str, str], annotations: Mapping[str, str]) -> int:
    """2 for what pages somebody, 1 for a ticket, 0 for information.

    Rules that name their severities otherwise say in `urgency` what they mean. A severity that is not known pages,
    as it does in the routes of `specwatch alerts alertmanager`.
    """
    told = _RANKS.get(annotations.get("urgency", ""))
    return _RANKS.get(labels.get("severity", ""), PAGE) if told is None else told


def severity_sign(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """A coloured circle."""
    return _SIGNS[rank(labels, annotations)]
