"""Reading that does not stand in the way of passing on: a little later, many chunks at a time.

A chunk is sent on as soon as it comes. Reading it costs about as much as passing it on, and far less if it is done
for many chunks together, while the processor's caches still hold the code. So copies wait for a few
milliseconds, each with its time of arrival, and are then read in short turns between which the loop goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

DELAY_S: Final = 0.02
TURN: Final = 32

Schedule = Callable[[float, Callable[[], None]], object]


class LateReader(Protocol):
    """Whoever has kept chunks."""

    def read_kept(self) -> int:
        """Read them all; returns how many there were."""


def on_running_loop(delay: float, step: Callable[[], None]) -> object:
    """Run a step later in the running event loop."""
    return asyncio.get_running_loop().call_later(delay, step)


class ReadLater:
    """Lets readers catch up, in turns of about 32 chunks.

    Args:
        schedule: runs a step after so many seconds.
    """

    def __init__(self, schedule: Schedule = on_running_loop) -> None:
        self._schedule = schedule
        self._readers: dict[LateReader, None] = {}
        self._planned = False

    def add(self, reader: LateReader) -> None:
        """A reader has kept a chunk; adding it twice does nothing more."""
        self._readers[reader] = None
        if not self._planned:
            self._planned = True
            self._schedule(DELAY_S, self._take_turn)

    def drop(self, reader: LateReader) -> None:
        """A reader has nothing left."""
        self._readers.pop(reader, None)

    def _take_turn(self) -> None:
        left = TURN
        while self._readers and left > 0:
            reader = next(iter(self._readers))
            del self._readers[reader]
            left -= reader.read_kept()
        self._planned = bool(self._readers)
        if self._planned:
            self._schedule(0.0, self._take_turn)
