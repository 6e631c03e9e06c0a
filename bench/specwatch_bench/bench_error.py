"""The one error for what a user gave and what cannot be used."""

from __future__ import annotations


class BenchError(ValueError):
    """A matrix, data set or option cannot be used; the message is one line that says which and what to do."""
