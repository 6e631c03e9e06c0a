"""How much a run measures: the one place with its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from bench_proxy.load_job import Phase


@dataclass(frozen=True)
class PhasePlan:
    """One phase; the fields mean what they mean in `LoadJob`."""

    phase: Phase
    connections: int
    seconds: float
    warm_s: float
    rate: int = 0
    chunks: int = 0


# Paced streams last one second, so that 32 of them give 32 first tokens a second.
PACED: Final = PhasePlan("paced", connections=32, seconds=4.0, warm_s=1.2, rate=50, chunks=50)
ALONE: Final = PhasePlan("alone", connections=64, seconds=2.0, warm_s=0.5, chunks=1000)
FLOOD: Final = PhasePlan("flood", connections=32, seconds=1.5, warm_s=0.5, chunks=16000)
SMALL: Final = PhasePlan("small", connections=32, seconds=1.5, warm_s=0.5)
# The slowest proxy needs some seconds to open 256 streams; the warm-up is long enough for it.
MEMORY: Final = PhasePlan("memory", connections=256, seconds=0.5, warm_s=6.5, rate=1, chunks=1000)

# Before the first round and not measured: some proxies load half of their code with the first requests.
WARM_UP: Final = (replace(SMALL, warm_s=4.0), replace(PACED, warm_s=2.0))
EACH_ROUND: Final = (PACED, ALONE, FLOOD, SMALL)
ROUNDS: Final = 4
