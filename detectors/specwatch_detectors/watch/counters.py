"""The counters that the fleet watch reads, all rows of the catalogue, and the cell of a row that each fills."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from specwatch_exporters import catalog, request_catalog
from specwatch_exporters.metric import Metric

MAX_POSITIONS: Final = 64
DRAFTS, DRAFT_TOKENS, ACCEPTED_TOKENS = range(3)
"""Cells of a row of counts; behind them stand accepted and drafted of each position in turn."""
FIXED: Final = 3


class Origin(Enum):
    """Which of the two sets of counters a series belongs to."""

    ENGINE = "engine"
    REQUEST = "request"


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter.

    Attributes:
        metric: its row of the catalogue.
        origin: per engine, or per request and so per traffic class.
        cell: the cell that it fills; of position 0 where it has positions.
        positions: whether it has one series per position.
    """

    metric: Metric
    origin: Origin
    cell: int
    positions: bool = False

    @property
    def name(self) -> str:
        """Name in Prometheus."""
        return self.metric.name

    def cell_of(self, position: str) -> int | None:
        """The cell of a series; None if its position is no number from 0 to 63."""
        if not self.positions:
            return self.cell
        if not (position.isascii() and position.isdecimal()) or int(position) >= MAX_POSITIONS:
            return None
        return self.cell + 2 * int(position)


# Drafts come first in each set: what else a stream counted is judged by whether its drafts were known already.
COUNTERS: Final[tuple[Counter, ...]] = (
    Counter(catalog.DRAFTS, Origin.ENGINE, DRAFTS),
    Counter(catalog.DRAFT_TOKENS, Origin.ENGINE, DRAFT_TOKENS),
    Counter(catalog.ACCEPTED_TOKENS, Origin.ENGINE, ACCEPTED_TOKENS),
    Counter(catalog.ACCEPTED_PER_POSITION, Origin.ENGINE, FIXED, positions=True),
    Counter(catalog.DRAFTED_PER_POSITION, Origin.ENGINE, FIXED + 1, positions=True),
    Counter(request_catalog.DRAFTS, Origin.REQUEST, DRAFTS),
    Counter(request_catalog.DRAFT_TOKENS, Origin.REQUEST, DRAFT_TOKENS),
    Counter(request_catalog.ACCEPTED_TOKENS, Origin.REQUEST, ACCEPTED_TOKENS),
    Counter(request_catalog.ACCEPTED_PER_POSITION, Origin.REQUEST, FIXED, positions=True),
    Counter(request_catalog.DRAFTED_PER_POSITION, Origin.REQUEST, FIXED + 1, positions=True),
)
