"""What time a run may take, and whether the next piece of it still fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specwatch_bench.matrix import Level
from specwatch_exporters.replay.clock import Clock

_DRAIN_EXPECTED: Final = 10.0
STOP_EXPECTED: Final = 10.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds from a beginning; None for no limit."""

    began: float
    seconds: float | None
    clock: Clock

    def left(self) -> float:
        """Seconds left, infinite without a limit."""
        if self.seconds is None:
            return float("inf")
        return self.began + self.seconds - self.clock.monotonic()

    def fits(self, seconds: float) -> bool:
        """Whether so much fits, with the engine's end after it."""
        return self.left() >= seconds + STOP_EXPECTED


def level_seconds(level: Level) -> float:
    """What a cell takes: warm-up, measured time and an ordinary drain."""
    return level.warmup + level.most_seconds + min(level.drain, _DRAIN_EXPECTED)
