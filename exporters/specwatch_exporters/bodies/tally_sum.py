"""Sums of tallies that keep each ratio's numerator and denominator over the same steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest

from specwatch_exporters.acceptance import Tally


@dataclass(slots=True)
class _Positions:
    counts: tuple[float, ...] = ()
    drafts: float = 0.0


@dataclass(slots=True)
class TallySum:
    """Adds tallies of windows or requests.

    A tally without draft tokens or accepted tokens is left out: half of a ratio must not enter a total. `drafts`
    is known only if every tally that was added knows it. Positions are summed per depth K, because a shorter
    draft never reaches the later ones; the result holds those of the last K that was seen.
    """

    added: int = 0
    left_out: int = 0
    depth: int | None = None
    depths: set[int] = field(default_factory=set)
    _drafts: float | None = 0.0
    _draft_tokens: float = 0.0
    _accepted: float = 0.0
    _positions: dict[int | None, _Positions] = field(default_factory=dict)
    _positions_depth: int | None = None

    def add(self, tally: Tally, depth: int | None = None, *, positions: bool = True) -> None:
        """Add one tally.

        Args:
            tally: counts of one window or request.
            depth: its K, if known.
            positions: False if its per-position counts are not whole.
        """
        if tally.draft_tokens is None or tally.accepted_tokens is None:
            self.left_out += 1
            return
        self.added += 1
        self._draft_tokens += tally.draft_tokens
        self._accepted += tally.accepted_tokens
        self._drafts = None if self._drafts is None or tally.drafts is None else self._drafts + tally.drafts
        if depth is not None:
            self.depth = depth
            self.depths.add(depth)
        if positions and tally.accepted_per_position:
            self._add_positions(tally, depth)

    def _add_positions(self, tally: Tally, depth: int | None) -> None:
        base = tally.drafts if tally.position_drafts is None else tally.position_drafts
        if base is None:
            return
        sums = self._positions.setdefault(depth, _Positions())
        pairs = zip_longest(sums.counts, tally.accepted_per_position, fillvalue=0.0)
        sums.counts = tuple(left + (right or 0.0) for left, right in pairs)
        sums.drafts += base
        self._positions_depth = depth

    def total(self) -> Tally:
        """The sum; all unknown if nothing was added."""
        if not self.added:
            return Tally()
        sums = self._positions.get(self._positions_depth, _Positions())
        return Tally(
            drafts=self._drafts,
            draft_tokens=self._draft_tokens,
            accepted_tokens=self._accepted,
            accepted_per_position=sums.counts,
            position_drafts=sums.drafts if sums.counts and sums.drafts != self._drafts else None,
        )
