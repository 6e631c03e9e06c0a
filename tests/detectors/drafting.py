"""Drafts for the detectors' tests: by expectation, by enumeration, and at random with a known design effect."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

from specwatch_detectors import chain
from specwatch_detectors.window import Window, window

Q = (0.7, 0.66, 0.64)


def expected(drafts: float, q: Sequence[float] = Q, factor: float = 1.0) -> Window:
    """The counts that drafts have on average when every conditional acceptance is `factor` times `q`."""
    return window(drafts, [drafts * value for value in chain.unconditional([factor * value for value in q])])


def without_positions(found: Window) -> Window:
    """The same traffic as an engine shows it that exports no positions."""
    return Window(found.drafts, accepted_tokens=found.accepted_tokens)


def every_outcome(drafts: int, q: Sequence[float]) -> Iterator[tuple[Window, float]]:
    """Every possible result of a few independent drafts, and its probability."""
    depth = len(q)
    kept = [math.prod(q[:k]) * (1.0 - q[k] if k < depth else 1.0) for k in range(depth + 1)]
    for counts in itertools.product(range(drafts + 1), repeat=depth + 1):
        if sum(counts) != drafts:
            continue
        ways = math.factorial(drafts) // math.prod(math.factorial(count) for count in counts)
        share = ways * math.prod(p**count for p, count in zip(kept, counts, strict=True))
        yield window(drafts, [sum(counts[j:]) for j in range(1, depth + 1)]), share


class Traffic:
    """Random intervals of requests that differ: each has its own acceptance, so counts are over-dispersed.

    The design effect is that of clusters of `drafts_per_request` drafts with intraclass correlation rho.
    """

    def __init__(self, seed: int, *, requests: int = 40, drafts_per_request: int = 25, rho: float = 0.05) -> None:
        self._random = random.Random(seed)
        self._requests = requests
        self._drafts = drafts_per_request
        self._rho = rho

    @property
    def drafts(self) -> int:
        return self._requests * self._drafts

    @property
    def design(self) -> float:
        return 1.0 + (self._drafts - 1) * self._rho

    def interval(self, q: float = 0.7, factor: float = 1.0) -> Window:
        """One position; acceptance by request from a beta distribution of that mean and correlation."""
        return window(self.drafts, [sum(kept for _, kept in self.by_request(q, factor))])

    def by_request(self, q: float = 0.7, factor: float = 1.0) -> list[tuple[int, int]]:
        mean, total = q * factor, 1.0 / self._rho - 1.0
        found = []
        for _ in range(self._requests):
            own = self._random.betavariate(mean * total, (1.0 - mean) * total)
            found.append((self._drafts, sum(self._random.random() < own for _ in range(self._drafts))))
        return found
