"""What went wrong inside the plugin: counted, logged once per part, never raised into the engine."""

from __future__ import annotations

import logging
from collections.abc import Callable


class Failures:
    """Errors by part of the plugin since they were last taken.

    Args:
        log: receives the first error of each part.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._pending: dict[str, int] = {}
        self._seen: set[str] = set()

    def note(self, part: str, error: BaseException) -> None:
        """Count one error; the first of a part is logged with its traceback."""
        self._pending[part] = self._pending.get(part, 0) + 1
        if part not in self._seen:
            self._seen.add(part)
            message = "specwatch plugin: %r failed; the engine is not affected, further errors are only counted"
            self._log.warning(message, part, exc_info=error)

    def unfit(self, part: str, reason: Callable[[], str]) -> None:
        """Count that a part could not read what this vLLM hands over; why is logged, once."""
        self._pending[part] = self._pending.get(part, 0) + 1
        if part not in self._seen:
            self._seen.add(part)
            message = "specwatch plugin: no figures of %r: %s; update specwatch; the engine is not affected"
            self._log.warning(message, part, reason())

    def take(self) -> dict[str, int]:
        """Errors by part since the last call."""
        taken, self._pending = self._pending, {}
        return taken
