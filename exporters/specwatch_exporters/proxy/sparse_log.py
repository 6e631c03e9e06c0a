"""Warnings about what may happen thousands of times a second: one line now and then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

EVERY_S: Final = 30.0


class SparseLog:
    """Warns at once, and then not again for a while; the next line says how many were left out.

    Args:
        log: where lines go.
        clock: monotonic seconds.
        every_s: the least time between two lines of a kind.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float], every_s: float = EVERY_S) -> None:
        self._log = log
        self._clock = clock
        self._every_s = every_s
        self._spoken: dict[str, float] = {}
        self._silent: dict[str, int] = {}

    def warn(self, kind: str, line: str) -> None:
        """Say a line, or count it.

        Args:
            kind: what it is about; one of a few.
            line: without a prompt, a key or another secret.
        """
        now = self._clock()
        spoken = self._spoken.get(kind)
        if spoken is not None and now - spoken < self._every_s:
            self._silent[kind] = self._silent.get(kind, 0) + 1
            return
        self._spoken[kind] = now
        silent = self._silent.pop(kind, 0)
        self._log.warning("%s%s", line, f" (and {silent} times since the last such line)" if silent else "")
