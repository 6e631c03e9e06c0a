"""The chain of conditional acceptances: q_1..q_k, and what follows from it.

A draft is kept up to the first rejection, so what happens at position j is seen only behind an accepted prefix:
q_j = P(token j accepted | the j - 1 before it were). Real curves are flat or rise with depth, so the vector is kept
instead of one number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

TINY: Final = 1e-4
"""Conditional acceptances are kept this far from 0 and 1, so that no single token is infinite evidence."""

Chain = tuple[float, ...]


def inside(value: float) -> float:
    """A probability kept away from 0 and 1."""
    return min(1.0 - TINY, max(TINY, value))


def reached(q: Sequence[float]) -> Chain:
    """P(position j is verified) per draft of full depth: 1, q_1, q_1 q_2, ..."""
    found, share = [], 1.0
    for value in q:
        found.append(share)
        share *= value
    return tuple(found)


def unconditional(q: Sequence[float]) -> Chain:
    """p_j = q_1 ... q_j, the engines' per-position acceptance."""
    return tuple(share * value for share, value in zip(reached(q), q, strict=True))


def conditional(p: Sequence[float]) -> Chain:
    """q_j = p_j / p_{j-1}, with p_0 = 1; 0 behind a position that is never accepted."""
    before, found = 1.0, []
    for value in p:
        found.append(min(1.0, value / before) if before else 0.0)
        before = value
    return tuple(found)


def mean_accepted(q: Sequence[float]) -> float:
    """Accepted tokens per draft: tau - 1."""
    return sum(unconditional(q))


def variance(q: Sequence[float]) -> float:
    """Variance of the accepted tokens of one draft: sum (2j - 1) p_j - (sum p_j)^2, in tokens^2.

    Positions of one draft are nested; this is 2 to 4 times the binomial variance that treats tokens as independent.
    """
    p = unconditional(q)
    return sum((2 * j + 1) * value for j, value in enumerate(p)) - sum(p) ** 2


def divergence(after: float, before: float) -> float:
    """Kullback-Leibler divergence kl(after || before) of two Bernoulli variables, in nats."""
    a, b = inside(after), inside(before)
    return a * math.log(a / b) + (1.0 - a) * math.log((1.0 - a) / (1.0 - b))


def information(after: Sequence[float], before: Sequence[float]) -> float:
    """Evidence of one draft for `after` over `before` when `after` holds, in nats: the chain's KL divergence."""
    shares = reached(after)
    return sum(share * divergence(a, b) for share, a, b in zip(shares, after, before, strict=False))


def geometric(mean: float, depth: int) -> Chain:
    """The chain with equal conditionals that accepts `mean` tokens per draft; for engines without positions.

    Args:
        mean: accepted tokens per draft, 0 to `depth`.
        depth: draft tokens per draft, at least 1.
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if mean_accepted((middle,) * depth) < mean else (low, middle)
    return ((low + high) / 2.0,) * depth
