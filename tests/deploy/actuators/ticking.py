"""A clock that a test moves."""

from __future__ import annotations


class Ticking:
    """Seconds, as many as the test has let pass."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
