"""The one error that commands raise for a user's mistake or an unusable input."""

from __future__ import annotations


class UserError(Exception):
    """One clear line: what was wrong and what to do.

    Attributes:
        exit_code: 1 when an input cannot be used, 2 for wrong usage.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code
