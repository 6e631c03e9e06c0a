"""What an engine can be made to do, best case first."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """Levels in the order of falling back; a deployment declares those that it has."""

    DRAFT = "draft"
    FEWER = "fewer"
    NGRAM = "ngram"
    OFF = "off"

    @property
    def words(self) -> str:
        """The level in a few words."""
        return _WORDS[self]

    @property
    def depth(self) -> int:
        """Place in the order, 0 for the drafter."""
        return tuple(Level).index(self)


_WORDS = {
    Level.DRAFT: "the drafter",
    Level.FEWER: "the drafter with fewer tokens",
    Level.NGRAM: "n-gram",
    Level.OFF: "no speculation",
}
