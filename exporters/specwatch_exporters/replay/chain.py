"""Chains of acceptance: how many tokens of one draft the target keeps."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

Rates = tuple[float, ...]


def checked_rates(values: Sequence[float]) -> Rates:
    """Return acceptance per position, or say what is wrong with it.

    Args:
        values: unconditional acceptance p_j per position, 0 to 1, not increasing, as vLLM's
            `synthetic_acceptance_rates` takes them (0.19 and newer).

    Raises:
        ValueError: when the list is empty, a value is outside 0 to 1, or a later value is larger.
    """
    rates = tuple(float(value) for value in values)
    if not rates:
        raise ValueError("acceptance needs at least one position")
    if any(not 0.0 <= rate <= 1.0 for rate in rates):
        raise ValueError(f"acceptance must be between 0 and 1 at every position, got {list(rates)}")
    if any(later > earlier for earlier, later in itertools.pairwise(rates)):
        raise ValueError(
            f"acceptance is unconditional per position, so it cannot increase with position, got {list(rates)}"
        )
    return rates


def conditional(rates: Rates) -> Rates:
    """Conditional acceptance q_j = p_j / p_{j-1}, with q_0 = p_0; 0 after a position that is never reached."""
    before = (1.0, *rates[:-1])
    return tuple(rate / prior if prior > 0 else 0.0 for rate, prior in zip(rates, before, strict=True))


def unconditional(chain: Rates) -> Rates:
    """Inverse of `conditional`: running products."""
    rates: list[float] = []
    reached = 1.0
    for step in chain:
        reached *= step
        rates.append(reached)
    return tuple(rates)


def at_depth(rates: Rates, depth: int) -> Rates:
    """Rates for `depth` positions: cut, or continued with the last conditional acceptance."""
    if depth <= len(rates):
        return rates[:depth]
    last = conditional(rates)[-1]
    longer = list(rates)
    while len(longer) < depth:
        longer.append(longer[-1] * last)
    return tuple(longer)


def shifted(rates: Rates, shift: float) -> Rates:
    """Move every conditional acceptance by `shift` on the log-odds scale; 0 and 1 stay where they are."""
    if shift == 0.0:
        return rates
    return unconditional(tuple(_moved(step, shift) for step in conditional(rates)))


def _moved(probability: float, shift: float) -> float:
    if probability <= 0.0 or probability >= 1.0:
        return probability
    return 1.0 / (1.0 + math.exp(-math.log(probability / (1.0 - probability)) - shift))


def accepted(rng: random.Random, rates: Rates, drafted: int) -> int:
    """Draw how many of `drafted` tokens survive verification.

    The chain stops at the first rejection. One uniform number u decides all positions: position j is kept
    when u < p_j, which gives P(more than j kept) = p_j and the conditional chain q_j = p_j / p_{j-1}.
    """
    draw = rng.random()
    kept = 0
    while kept < drafted and draw < rates[kept]:
        kept += 1
    return kept
