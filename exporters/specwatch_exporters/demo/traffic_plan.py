"""What load to make: rate or concurrency, classes, lengths, and where it ends."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Lengths:
    """A log-normal distribution of token counts around a median.

    Attributes:
        median: tokens.
        sigma: spread of the logarithm; 0 makes every length the median.
        most: upper limit.
    """

    median: int
    sigma: float = 0.0
    most: int = 2048

    def draw(self, rng: random.Random) -> int:
        """One length, from 1 to `most`."""
        factor = math.exp(rng.gauss(0.0, self.sigma)) if self.sigma > 0 else 1.0
        return min(max(round(self.median * factor), 1), self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficPlan:
    """What load to make.

    Attributes:
        url: the engine's base address.
        model: model name, or None to leave it to the engine.
        mix: weight per traffic class; sent in the header `x-specwatch-class`.
        concurrency: requests in flight (closed loop).
        rate: arrivals per second, Poisson (open loop); give this or `concurrency`.
        prompt: prompt lengths.
        output: `max_tokens`, which are used up because the end token is ignored.
        seconds: end after this long, cutting what is in flight; None for no limit.
        count: end after this many requests; None for no limit. One of both limits is needed.
        chat: chat completions, else completions.
        max_in_flight: arrivals beyond it are dropped and counted (open loop).
        timeout: seconds that one request may take.
        keep: records kept, the newest ones.
        seed: seed of classes, lengths and arrivals.
    """

    url: str
    model: str | None = None
    mix: Mapping[str, float] = field(default_factory=lambda: {"code": 1.0, "chat": 1.0, "math": 1.0})
    concurrency: int | None = None
    rate: float | None = None
    prompt: Lengths = Lengths(256)
    output: Lengths = Lengths(192)
    seconds: float | None = None
    count: int | None = None
    chat: bool = True
    max_in_flight: int = 512
    timeout: float = 300.0
    keep: int = 10_000
    seed: int = 1

    def __post_init__(self) -> None:
        if (self.concurrency is None) == (self.rate is None):
            raise ValueError("give either concurrency (closed loop) or rate (open loop)")
        if self.seconds is None and self.count is None:
            raise ValueError("give seconds or count: load without an end is not made")
        checked_mix(self.mix)


def checked_mix(mix: Mapping[str, float]) -> dict[str, float]:
    """Return a mix of classes that something can be drawn from.

    Raises:
        ValueError: when no weight is positive, or one is negative.
    """
    if not mix or any(weight < 0 for weight in mix.values()) or sum(mix.values()) <= 0:
        raise ValueError(f"the mix needs a positive weight, got {dict(mix)}")
    return dict(mix)
