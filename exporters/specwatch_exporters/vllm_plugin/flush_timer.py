"""When steps are counted and published: one second after the first one that is not there yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

INTERVAL_S = 1.0
MAX_STEPS = 250


class FlushTimer:
    """Calls `flush` on the running event loop, a fixed time after the first step since the last flush.

    vLLM records steps from the event loop that also serves `/metrics`, so nothing here needs a lock and an idle
    engine wakes nobody. Without a running loop (an engine driven by plain calls) each step looks at the clock.

    Args:
        flush: publishes what was recorded; must not raise.
        interval_s: seconds between the first step and the flush.
        loop: gives the running loop, raises RuntimeError when there is none.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        flush: Callable[[], None],
        interval_s: float = INTERVAL_S,
        loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.get_running_loop,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._flush = flush
        self._interval_s = interval_s
        self._loop = loop
        self._clock = clock
        self._steps = 0
        self._handle: asyncio.TimerHandle | None = None
        self._due = clock() + interval_s

    def touch(self) -> None:
        """Say that a step was recorded.

        After 250 steps without a flush it is done at once: it must not take long, and the loop that should have
        done it may be gone.
        """
        self._steps += 1
        if self._steps == 1:
            self._arm()
        elif self._steps >= MAX_STEPS:
            self.fire()

    def fire(self) -> None:
        """Flush now, and wait for the next step."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._steps = 0
        self._due = self._clock() + self._interval_s
        self._flush()

    def _arm(self) -> None:
        try:
            loop = self._loop()
        except RuntimeError:
            self._steps = 0
            if self._clock() >= self._due:
                self.fire()
        else:
            self._handle = loop.call_later(self._interval_s, self.fire)
