"""How many requests a quantile needs."""

from __future__ import annotations

import math

from specwatch_bench.count_words import counted

CONFIDENCE = 0.95


def requests_for(quantile: float, confidence: float = CONFIDENCE) -> int:
    """Fewest independent values whose largest is above the quantile with a chance of (1 + confidence) / 2.

    With fewer, the distribution-free interval between order statistics has no upper end (Conover, Practical
    Nonparametric Statistics, 3rd edition, section 3.2: all n lie below the quantile with probability quantile^n).
    For 0.99 and 95 % it is 368, for 0.9 36.
    """
    return math.ceil(math.log((1.0 - confidence) / 2.0) / math.log(quantile))


def shortage(quantile: float, requests: int) -> str | None:
    """One line when there are too few requests for a quantile, else None."""
    needed = requests_for(quantile)
    if requests >= needed:
        return None
    return (
        f"{counted(requests, 'request')} ended; an upper limit for p{quantile * 100:g} of whole requests needs "
        f"{needed}: the figure is a lower limit"
    )
