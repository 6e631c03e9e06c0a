"""Counts in words."""

from __future__ import annotations


def counted(many: int, noun: str) -> str:
    """`1 cell`, `12 cells`."""
    return f"{many:,} {noun}{'' if many == 1 else 's'}"
