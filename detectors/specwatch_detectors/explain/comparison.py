"""One stream before and after a change, and what a draft of it accepts on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from specwatch_detectors import chain
from specwatch_detectors.window import NOTHING, Window

_MOST: Final = 0.5
"""A position that fewer drafts had is left out where two depths are compared."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts of one stream in two spans of time.

    Attributes:
        before: while the draft was good; no drafts if the stream did not exist yet.
        after: from the onset on.
    """

    before: Window = NOTHING
    after: Window = NOTHING

    def __add__(self, other: Comparison) -> Comparison:
        """Both streams as one."""
        return Comparison(self.before + other.before, self.after + other.after)

    def of_one_depth(self) -> Comparison:
        """Over the positions that most drafts of both sides had: acceptance of different depths is not compared."""
        sides = (self.before, self.after)
        positions = min(side.depth(_MOST) for side in sides)
        if not positions or all(side.depth() == len(side.accepted) == positions for side in sides):
            return self
        return Comparison(*(side.first(positions) for side in sides))

    @property
    def both(self) -> bool:
        """There are drafts before and after."""
        return self.before.drafts > 0.0 and self.after.drafts > 0.0

    @property
    def change(self) -> float | None:
        """Accepted tokens per draft, after minus before; None without drafts on either side."""
        old, new = mean(self.before), mean(self.after)
        return None if old is None or new is None else new - old

    @property
    def relative(self) -> float | None:
        """The change over the mean before; None if unknown, or if hardly a token was accepted before."""
        old, change = mean(self.before), self.change
        return change / old if old is not None and old > chain.TINY and change is not None else None

    def error(self, design: float) -> float:
        """Standard error of `change`, with the variance d times that of independent drafts; infinite if unknown."""
        return math.sqrt(mean_variance(self.before, design) + mean_variance(self.after, design))


def mean(window: Window) -> float | None:
    """Accepted tokens per draft: tau - 1; None without drafts."""
    return window.accepted_tokens / window.drafts if window.drafts > 0.0 else None


def conditionals(window: Window) -> chain.Chain:
    """q_1..q_k of one window, up to the first position that no draft reached."""
    found = []
    for kept, tried in zip(window.accepted, window.trials, strict=True):
        if tried <= 0.0:
            break
        found.append(min(1.0, kept / tried))
    return tuple(found)


def draft_variance(window: Window) -> float:
    """Variance of the accepted tokens of one draft, tokens^2, never 0.

    From positions where there are any. Without them m (1 + m), the variance of a chain without end: an upper limit.
    """
    average = mean(window) or 0.0
    if window.censored or not window.accepted:
        return max(chain.TINY, average * (1.0 + average))
    return max(chain.TINY, chain.variance([chain.inside(value) for value in conditionals(window)]))


def mean_variance(window: Window, design: float) -> float:
    """Variance of `mean`; infinite without drafts."""
    return design * draft_variance(window) / window.drafts if window.drafts > 0.0 else math.inf
