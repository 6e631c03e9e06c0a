"""Kinds of requests: how well each drafter fits them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OUTPUT_TOKENS: Final = 192.0
PROMPT_TOKENS: Final = 256.0
"""Prompt tokens that have to be computed; as many again come from the prefix cache while it is warm."""

LENGTH_SPREAD: Final = 0.8
"""Standard deviation of the log of an answer's length: lognormal."""

DRAFTER: Final = "eagle3"
DEPTH: Final = 3


@dataclass(frozen=True)
class Kind:
    """One kind of request; the numbers are assumed, so that the usual mix accepts what the profile's runs did.

    Attributes:
        name: of the kind.
        share: of requests on a usual day.
        draft: conditional acceptance of the EAGLE-3 draft by position.
        ngram: that of prompt lookup.
        spread: standard deviation of requests' log-odds around it.
    """

    name: str
    share: float
    draft: tuple[float, float, float]
    ngram: tuple[float, float, float]
    spread: float


KINDS: Final = (
    Kind("code", 0.32, (0.80, 0.76, 0.73), (0.62, 0.70, 0.73), 0.5),
    Kind("chat", 0.30, (0.75, 0.71, 0.68), (0.30, 0.45, 0.50), 0.45),
    Kind("math", 0.10, (0.78, 0.74, 0.70), (0.28, 0.40, 0.45), 0.3),
    Kind("summary", 0.25, (0.73, 0.70, 0.68), (0.50, 0.58, 0.60), 0.3),
    Kind("role play", 0.03, (0.42, 0.40, 0.38), (0.06, 0.30, 0.30), 0.4),
)
HARD_KIND: Final = len(KINDS) - 1
"""Place of the kind that no draft fits; the mix shift is towards it."""
