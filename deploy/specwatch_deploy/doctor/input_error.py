"""The one error for an input that cannot be used."""

from __future__ import annotations


class InputError(ValueError):
    """The input cannot be used; the message is one line that names it."""
