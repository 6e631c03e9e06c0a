"""The acceptance that a draft had when it was known to fit: what drift is measured against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specwatch_detectors import chain
from specwatch_detectors.window import NOTHING, Window

_MAX_POSITIONS: Final = 64


@dataclass(frozen=True, slots=True)
class Baseline:
    """Conditional acceptance of one stream, with the counts that it comes from.

    Attributes:
        counts: the intervals it was learned from, added up.
    """

    counts: Window = NOTHING

    def learned(self, window: Window) -> Baseline:
        """The baseline with one more interval in it.

        A censored interval has position 1 only, which is as good as any; positions behind it wait for better ones.
        """
        return replace(self, counts=self.counts + window)

    @property
    def q(self) -> chain.Chain:
        """Conditional acceptances q_1..q_k, each kept away from 0 and 1; positions never verified are left out."""
        pairs = zip(self.counts.accepted, self.counts.trials, strict=True)
        return tuple(chain.inside(kept / tried) for kept, tried in pairs if tried > 0.0)

    @property
    def mean_accepted(self) -> float | None:
        """Accepted tokens per draft, or None before any draft."""
        return self.counts.accepted_tokens / self.counts.drafts if self.counts.drafts else None

    def variance(self, depth: int) -> float:
        """Variance of the accepted tokens of one draft, as deep as drafts were, in tokens^2.

        sum (2j - 1) p_j - (sum p_j)^2 with p_j = s_j / N, which holds for drafts of several depths too. Positions
        of censored intervals count as not accepted: the variance is then too small, and the design effect that
        is measured against it too large, which is the safe side.

        Args:
            depth: draft tokens per draft, for engines without positions: equal conditionals are assumed.
        """
        drafts, mean = self.counts.drafts, self.mean_accepted or 0.0
        if not self.counts.accepted:
            return chain.variance(chain.geometric(mean, depth)) if 0.0 < mean < depth else 0.0
        p = [kept / drafts for kept in self.counts.accepted] if drafts else []
        return sum((2 * j + 1) * value for j, value in enumerate(p)) - sum(p) ** 2

    def relative_error(self, design: float) -> float:
        """Standard error of the accepted tokens per draft over their mean; infinite while nothing is known.

        Args:
            design: design effect of accepted tokens, relative to the chain's variance.
        """
        mean = chain.mean_accepted(self.q)
        if not self.counts.drafts or mean <= 0.0:
            return math.inf
        return math.sqrt(design * chain.variance(self.q) / self.counts.drafts) / mean

    @classmethod
    def of_mean(cls, mean: float, depth: int, drafts: float) -> Baseline:
        """A baseline of equal conditionals with that mean of accepted tokens; for engines without positions."""
        q = chain.geometric(mean, depth)
        shares, kept = chain.reached(q), chain.unconditional(q)
        trials = tuple(drafts * share for share in shares)
        return cls(Window(drafts, tuple(drafts * value for value in kept), trials, drafts * mean))

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON; `from_json` reads them."""
        return {
            "drafts": self.counts.drafts,
            "accepted": list(self.counts.accepted),
            "trials": list(self.counts.trials),
            "accepted_tokens": self.counts.accepted_tokens,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Baseline:
        """Read what `as_json` wrote.

        Raises:
            ValueError: a count is missing, negative or no number.
        """
        try:
            accepted = tuple(float(value) for value in body["accepted"])
            trials = tuple(float(value) for value in body["trials"])
            counts = Window(float(body["drafts"]), accepted, trials, float(body["accepted_tokens"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a baseline: {error}") from error
        numbers = (counts.drafts, counts.accepted_tokens, *accepted, *trials)
        if len(accepted) != len(trials) or len(accepted) > _MAX_POSITIONS:
            raise ValueError("not a baseline: accepted and trials must be of one length, 64 at most")
        if not all(math.isfinite(value) and value >= 0.0 for value in numbers):
            raise ValueError("not a baseline: counts must be finite and not negative")
        if any(kept > tried * (1 + 1e-9) for kept, tried in zip(accepted, trials, strict=True)):
            raise ValueError("not a baseline: more accepted than tried")
        return cls(counts)
