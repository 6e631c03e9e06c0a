"""The one error of the injection."""

from __future__ import annotations


class InjectError(ValueError):
    """A manifest cannot be used; the message is one line that says why and what to do."""
