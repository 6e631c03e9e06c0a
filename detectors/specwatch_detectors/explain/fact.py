"""One fact about a change: it holds, it does not, or it is unknown, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that was looked up in the evidence.

    Attributes:
        holds: None if it cannot be said.
        words: what was found, or what is missing.
        missing: what the data lack, if that is why it cannot be said; empty if they are only too few.
    """

    holds: bool | None
    words: str
    missing: str = ""


def yes(words: str) -> Fact:
    """It holds."""
    return Fact(holds=True, words=words)


def no(words: str) -> Fact:
    """It does not hold."""
    return Fact(holds=False, words=words)


def undecided(words: str) -> Fact:
    """Unknown, because the data are too few or point both ways."""
    return Fact(holds=None, words=words)


def lacking(what: str) -> Fact:
    """Unknown, because the data lack something."""
    return Fact(holds=None, words=f"not known: {what}", missing=what)
