"""How much of the machine others use, and the patience to measure only while that is little."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from typing import Final

from bench_proxy.processes import busy_seconds, processor_seconds, with_descendants

QUIET_SHARE: Final = 0.1
_LOOK_S: Final = 1.0


class OthersMeter:
    """All processors' busy time less that of this run.

    Args:
        pids: the programs that run all the time; this process and those that it waited for count by themselves.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._last = self._now()

    def lap(self) -> float:
        """The share of all processors that others used since the last call; 0 where rounding makes it less."""
        before, self._last = self._last, self._now()
        clock, others = (now - then for now, then in zip(self._last, before, strict=True))
        return max(others / (clock * (os.cpu_count() or 1)), 0.0)

    def _now(self) -> tuple[float, float]:
        trees = [pid for root in self._pids for pid in with_descendants(root)]
        own = processor_seconds(trees)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            used = resource.getrusage(who)
            own += used.ru_utime + used.ru_stime
        return time.monotonic(), busy_seconds() - own


class Patience:
    """A budget of time to wait for a quiet machine and to repeat what was disturbed.

    Args:
        seconds: the budget.
        meter: tells what others use.
    """

    def __init__(self, seconds: float, meter: OthersMeter) -> None:
        self._left_s = seconds
        self._meter = meter

    def begin(self) -> None:
        """Note what others have used so far."""
        self._meter.lap()

    def is_quiet_or_over(self, took_s: float) -> tuple[bool, float]:
        """Tell whether to keep what was measured since `begin`, and what others used meanwhile.

        Where it is not kept, the time that it took is taken from the budget, and more until the machine is quiet.
        """
        share = self._meter.lap()
        if share <= QUIET_SHARE or self._left_s <= 0:
            return True, share
        self._left_s -= took_s
        self.wait()
        return False, share

    def wait(self) -> None:
        """Wait until the machine is quiet, at most as long as the budget lasts."""
        self._meter.lap()
        while self._left_s > 0:
            time.sleep(_LOOK_S)
            self._left_s -= _LOOK_S
            if self._meter.lap() <= QUIET_SHARE:
                return
