"""What a contender did: false pages, and delays by size of drop."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench_detect.page_interval import per_month

Delays = dict[float, list[int | None]]
"""By ratio: scrapes until the page, from 1; None where none came within the horizon."""


@dataclass
class Outcome:
    """One contender on pods of one size.

    Attributes:
        name: of the contender.
        days: pod-days without a change.
        pages: false pages in them.
        delays: by ratio.
        settings: what it was tuned to; empty where there is nothing to tune.
        note: what a reader must know.
    """

    name: str
    days: float = 0.0
    pages: int = 0
    delays: Delays = field(default_factory=dict)
    settings: str = ""
    note: str = ""

    def add(self, other: Outcome) -> None:
        """Take in what it did on another pod."""
        self.days += other.days
        self.pages += other.pages
        for ratio, found in other.delays.items():
            self.delays.setdefault(ratio, []).extend(found)

    @property
    def rate(self) -> tuple[float, float, float]:
        """False pages per 30 days, lower and upper bound."""
        return per_month(self.pages, self.days)

    def found(self, ratio: float) -> list[int]:
        """Delays of the changes that were found."""
        return [value for value in self.delays.get(ratio, []) if value is not None]

    def missed(self, ratio: float) -> float:
        """Share of changes not found; 1 where none was tried."""
        tried = self.delays.get(ratio, [])
        return 1.0 - len(self.found(ratio)) / len(tried) if tried else 1.0

    def mean(self, ratio: float) -> float | None:
        """Mean delay of those found, in scrapes; None if none was."""
        found = self.found(ratio)
        return statistics.mean(found) if found else None

    def median(self, ratio: float) -> float | None:
        """Their median."""
        found = self.found(ratio)
        return statistics.median(found) if found else None


@dataclass
class Bound:
    """Least delays, one for each change that was tried.

    Attributes:
        name: of the bound.
        delays: by ratio, scrapes.
    """

    name: str
    delays: dict[float, list[float]] = field(default_factory=dict)

    def add(self, other: Bound) -> None:
        """Take in those of another pod."""
        for ratio, found in other.delays.items():
            self.delays.setdefault(ratio, []).extend(found)

    def mean(self, ratio: float) -> float | None:
        """Their mean."""
        found: Sequence[float] = self.delays.get(ratio, [])
        return statistics.mean(found) if found else None
