"""Settings of a peer that keep a budget of false pages, and among them the quickest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

Settings = TypeVar("Settings")


def loosest(ladder: Sequence[Settings], keeps: Callable[[Settings], bool]) -> Settings | None:
    """The first settings of a ladder, from loose to strict, that keep the budget; None if not even the last do.

    Args:
        ladder: settings, each with no more false pages than the one before it.
        keeps: whether settings keep the budget.
    """
    low, high = 0, len(ladder)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(ladder[middle]) else (middle + 1, high)
    return ladder[low] if low < len(ladder) else None


def quickness(delays: Sequence[Sequence[int | None]], horizon: int) -> float:
    """Geometric mean over the sizes of drop of the mean delay; a miss counts as the whole horizon.

    Args:
        delays: by size of drop, those of each change.
        horizon: scrapes after which a change counts as missed.
    """
    logs = []
    for of_size in delays:
        values = [horizon if value is None else value for value in of_size]
        logs.append(math.log(sum(values) / len(values)))
    return math.exp(sum(logs) / len(logs))
