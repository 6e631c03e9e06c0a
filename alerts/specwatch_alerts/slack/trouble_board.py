"""What keeps alerts from people now: told in the log when it begins and once a day, and shown until it is over."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

LOG = logging.getLogger("specwatch.slack")
_REPEAT_S: Final = 86_400.0
_REPEAT_OFTEN_S: Final = 600.0


class TroubleBoard:
    """Troubles by what they are about; for several threads.

    Args:
        clock: epoch seconds.
        rarely: those of which the log hears once a day; of others every ten minutes.
    """

    def __init__(
        self, clock: Callable[[], float], rarely: frozenset[str] = frozenset({"picture", "history"})
    ) -> None:
        self._clock = clock
        self._rarely = rarely
        self._lock = threading.Lock()
        self._now: dict[str, str] = {}
        self._logged: dict[str, float] = {}

    def tell(self, about: str, words: str) -> None:
        """It fails."""
        now = self._clock()
        kind = about.partition(" ")[0]
        pause = _REPEAT_S if kind in self._rarely else _REPEAT_OFTEN_S
        with self._lock:
            known = about in self._now
            self._now[about] = words
            due = now - self._logged.get(about, float("-inf")) >= pause
            if due or (not known and kind not in self._rarely):
                self._logged[about] = now
                LOG.warning("%s", words)

    def clear(self, *about: str) -> None:
        """It works again."""
        with self._lock:
            for one in about:
                if self._now.pop(one, None) is not None and one.partition(" ")[0] not in self._rarely:
                    self._logged.pop(one, None)
                    LOG.info("%s: works again", one)

    def troubles(self) -> Mapping[str, str]:
        """What fails now, with words."""
        with self._lock:
            return dict(self._now)

    def kinds(self) -> frozenset[str]:
        """What fails now, without the names of channels and groups."""
        return frozenset(about.partition(" ")[0] for about in self.troubles())
