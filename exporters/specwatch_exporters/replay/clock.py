"""The engine's clock, handed in so that tests and simulations can own time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Two readings and a way to wait.

    Attributes:
        monotonic: seconds that never go back; every duration is taken from it.
        wall: seconds since the epoch, for start times.
        sleep: waits for some seconds, 0 to let others run.
    """

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
