"""Speculative counts of engine steps in plain integers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, zip_longest
from operator import add


class DraftTally:
    """Draft steps, draft tokens and accepted tokens, added up over steps.

    Attributes:
        drafts: verifications that had a draft.
        draft_tokens: tokens proposed.
        accepted_tokens: tokens kept, bonus excluded.
        accepted: drafts whose accepted prefix reached position j, index j.
        drafted: drafts that proposed a token at position j, index j; empty if the engine does not tell.
    """

    __slots__ = ("accepted", "accepted_tokens", "draft_tokens", "drafted", "drafts")

    def __init__(self) -> None:
        self.drafts = 0
        self.draft_tokens = 0
        self.accepted_tokens = 0
        self.accepted: list[int] = []
        self.drafted: list[int] = []

    def add(
        self,
        drafts: int,
        draft_tokens: int,
        accepted_tokens: int,
        accepted: Sequence[int],
        drafted: Sequence[int],
    ) -> None:
        """Add one step's counts; lists hold one count per position."""
        self.drafts += drafts
        self.draft_tokens += draft_tokens
        self.accepted_tokens += accepted_tokens
        self.accepted = _added(self.accepted, accepted)
        if drafted:
            self.drafted = _added(self.drafted, drafted)

    def add_tally(self, other: DraftTally) -> None:
        """Add another tally's counts."""
        self.add(other.drafts, other.draft_tokens, other.accepted_tokens, other.accepted, other.drafted)

    def lengths(self) -> list[int]:
        """Draft steps that accepted exactly m tokens, index m from 0 to the number of positions."""
        return accepted_lengths(self.drafts, self.accepted)


def accepted_lengths(drafts: int, accepted: Sequence[int]) -> list[int]:
    """Draft steps that accepted exactly m tokens, index m, from how many reached each position.

    Accepted tokens are a prefix, so the drafts that end at m are those that reached m but not m + 1.
    """
    reached = (drafts, *accepted, 0)
    return [here - further for here, further in pairwise(reached)]


def _added(total: list[int], more: Sequence[int]) -> list[int]:
    if len(total) == len(more):
        return list(map(add, total, more))
    return [have + new for have, new in zip_longest(total, more, fillvalue=0)]
