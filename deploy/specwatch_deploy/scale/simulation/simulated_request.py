"""One request of the simulation, and what became of it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class SimulatedRequest:
    """A request.

    Attributes:
        arrived: seconds.
        prompt: tokens to compute before the first one comes.
        output: tokens to generate.
        started: first scheduled; infinite while it waits.
        ended: last token; infinite until then.
        lost: whether its pod died under it.
    """

    arrived: float
    prompt: int
    output: int
    started: float = math.inf
    ended: float = math.inf
    lost: bool = False

    @property
    def wait(self) -> float:
        """Queue wait in seconds; infinite if it never started."""
        return self.started - self.arrived
