"""A clock that a test moves."""

from __future__ import annotations


class Ticking:
    """Seconds, as many as the test has let pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
