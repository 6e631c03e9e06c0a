"""The acceptance that a draft had when it was known to fit: what drift is measured against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specwatch_detectors import chain
from specwatch_detectors.window import NOTHING, Window

_MAX_POSITIONS: Final = 64
_YOUNG: Final = 0.5
"""A position known from less than this share of the drafts that the one before it is known from is younger."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Conditional acceptance of one stream, with the counts that it comes from.

    Attributes:
        counts: the intervals it was learned from, added up.
    """

    counts: Window = NOTHING

    def learned(self, window: Window) -> Baseline:
        """The baseline with one more interval in it: the positions that it has; the others wait for theirs."""
        return replace(self, counts=self.counts + window)

    @property
    def q(self) -> chain.Chain:
        """Conditional acceptances q_1..q_k, each kept away from 0 and 1; positions never verified are left out."""
        return tuple(chain.inside(value) for value in self._rates)

    @property
    def _rates(self) -> chain.Chain:
        """Accepted over tried by position, up to the first that was never tried."""
        found = []
        for kept, tried in zip(self.counts.accepted, self.counts.trials, strict=True):
            if tried <= 0.0:
                break
            found.append(kept / tried)
        return tuple(found)

    def first(self, positions: int) -> Baseline:
        """What is known of the first positions alone; all of it without positions."""
        return self if positions >= len(self.counts.accepted) else Baseline(self.counts.first(positions))

    def followed_by(self, other: Baseline) -> Baseline:
        """This baseline, and behind its last position what another one knows of the further ones."""
        own, more = self.counts, other.counts
        known = len(own.accepted)
        if not known or len(more.accepted) <= known:
            return self
        accepted, trials = own.accepted + more.accepted[known:], own.trials + more.trials[known:]
        whole = Window(own.drafts, accepted, trials)
        return Baseline(replace(whole, accepted_tokens=whole.first(len(accepted)).accepted_tokens))

    @property
    def prefixes(self) -> tuple[int, ...]:
        """Numbers of positions that may be judged together, most first: all, or only those that are not younger.

        A position is as old as the number of drafts of full depth that would have tried it as often. Where all
        drafts had the same depth, all positions are of one age.
        """
        rates = self._rates
        pairs = zip(self.counts.trials, chain.reached(rates), strict=False)
        ages = [tried / share if share > 0.0 else 0.0 for tried, share in pairs]
        older = [j for j in range(1, len(ages)) if ages[j] < _YOUNG * ages[j - 1]]
        return (len(rates), *reversed(older))

    @property
    def mean_accepted(self) -> float | None:
        """Accepted tokens per draft that has all of the positions, or None before any draft."""
        if not self.counts.drafts:
            return None
        rates = self._rates
        return chain.mean_accepted(rates) if rates else self.counts.accepted_tokens / self.counts.drafts

    def variance(self, depth: int, positions: int | None = None) -> float:
        """Variance of the accepted tokens of one draft, in tokens^2; 0 while nothing is known.

        Args:
            depth: draft tokens per draft, for engines without positions: equal conditionals are assumed.
            positions: tokens of the draft, for engines with positions; as many as are known if None.
        """
        if self.counts.accepted:
            return chain.variance(self._rates[:positions])
        mean = self.mean_accepted or 0.0
        return chain.variance(chain.geometric(mean, depth)) if 0.0 < mean < depth else 0.0

    def relative_error(self, design: float) -> float:
        """Standard error of the accepted tokens per draft over their mean; infinite while nothing is known.

        Each position adds d q (1 - q) / n times the square of what the mean gains by its q. With drafts of one
        depth that is the chain's variance, d times, over the drafts.

        Args:
            design: design effect of accepted tokens, relative to the chain's variance.
        """
        q = self.q
        mean = chain.mean_accepted(q)
        if mean <= 0.0:
            return math.inf
        found = behind = 0.0
        rows = list(zip(q, chain.reached(q), self.counts.trials, strict=False))
        for value, share, tried in reversed(rows):
            found += (share * (1.0 + behind)) ** 2 * value * (1.0 - value) / tried
            behind = value * (1.0 + behind)
        return math.sqrt(design * found) / mean

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
