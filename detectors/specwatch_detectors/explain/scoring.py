"""Weighs the facts for each cause: log-likelihood ratios are added, and the causes share what is left to doubt.

    score_c = prior_c + sum_f weight_cf(fact f holds / does not; 0 if unknown)
    P(c) = exp(score_c) / (1 + sum exp(score))        the 1 is "something that the table does not have"

It looks like Bayes' rule with independent facts. The facts are not independent and the weights are judgements, so
read P as an order with distances, not as a frequency. A cause is named only if it has 60 % and is three times as
likely as the next one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.explain.fact import Fact
from specwatch_detectors.explain.signatures import Signature

NAMED_AT: Final = 0.6
NAMED_OVER: Final = 3.0
_WORTH_SAYING: Final = 0.25
_WORTH_KNOWING: Final = 1.5


@dataclass(frozen=True, slots=True)
class Reason:
    """One finding's part in a cause's score: nats, positive if it speaks for the cause."""

    fact: str
    nats: float
    words: str

    def as_json(self) -> dict[str, Any]:
        """The reason as JSON."""
        return {"fact": self.fact, "nats": self.nats, "words": self.words}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A cause with its share of belief.

    Attributes:
        cause: from the table.
        score: nats.
        probability: 0 to 1; all causes and "something else" add up to 1.
        evidence_for: strongest first.
        evidence_against: strongest first.
    """

    cause: Signature
    score: float
    probability: float
    evidence_for: tuple[Reason, ...]
    evidence_against: tuple[Reason, ...]

    @property
    def share(self) -> str:
        """The probability for a person; never certainty."""
        return "over 99%" if self.probability > 0.99 else f"{self.probability:.0%}"

    def as_json(self) -> dict[str, Any]:
        """The cause, its share and its reasons as JSON."""
        return {
            "id": self.cause.id,
            "name": self.cause.name,
            "probability": self.probability,
            "for": [reason.as_json() for reason in self.evidence_for],
            "against": [reason.as_json() for reason in self.evidence_against],
        }


@dataclass(frozen=True, slots=True)
class Ranking:
    """All causes, likeliest first.

    Attributes:
        causes: likeliest first.
        something_else: share of belief that no cause of the table is it.
    """

    causes: tuple[Ranked, ...]
    something_else: float

    @property
    def named(self) -> Ranked | None:
        """The one cause that stands out, or None."""
        if not self.causes:
            return None
        first = self.causes[0]
        second = max(self.something_else, *(ranked.probability for ranked in self.causes[1:2]), 0.0)
        clear = first.probability >= NAMED_AT and first.probability >= NAMED_OVER * second
        return first if clear else None


def rank(facts: Mapping[str, Fact], causes: Sequence[Signature]) -> Ranking:
    """Weigh facts for each cause that is scored."""
    scored = [(cause, _score(cause, facts)) for cause in causes if cause.scored]
    top = max([0.0, *(score for _, score in scored)])
    total = math.exp(-top) + sum(math.exp(score - top) for _, score in scored)
    ranked = [_ranked(cause, score, math.exp(score - top) / total, facts) for cause, score in scored]
    ranked.sort(key=lambda row: (-row.score, row.cause.id))
    return Ranking(tuple(ranked), math.exp(-top) / total)


def _nats(cause: Signature, name: str, fact: Fact) -> float:
    if fact.holds is None:
        return 0.0
    return cause.facts[name].holds if fact.holds else cause.facts[name].fails


def _score(cause: Signature, facts: Mapping[str, Fact]) -> float:
    return cause.prior + sum(_nats(cause, name, facts[name]) for name in cause.facts if name in facts)


def _ranked(cause: Signature, score: float, probability: float, facts: Mapping[str, Fact]) -> Ranked:
    known = sorted(_reasons(cause, facts), key=lambda reason: -abs(reason.nats))
    return Ranked(
        cause,
        score,
        probability,
        tuple(reason for reason in known if reason.nats >= _WORTH_SAYING),
        tuple(reason for reason in known if reason.nats <= -_WORTH_SAYING),
    )


def _reasons(cause: Signature, facts: Mapping[str, Fact]) -> list[Reason]:
    """Facts that are read from the same finding come as one reason."""
    found: dict[str, Reason] = {}
    for name in cause.facts:
        if name in facts and (nats := _nats(cause, name, facts[name])):
            words = facts[name].words
            same = found.get(words, Reason(name, 0.0, words))
            found[words] = Reason(same.fact, same.nats + nats, words)
    return list(found.values())


def separating(ranked: Sequence[Ranked], facts: Mapping[str, Fact]) -> tuple[Fact, ...]:
    """Unknown facts by how far knowing them would move these causes apart, the most telling first."""
    swings = {name: _swing(ranked, name) for name, fact in facts.items() if fact.holds is None}
    telling = sorted((name for name, swing in swings.items() if swing >= _WORTH_KNOWING), key=lambda n: -swings[n])
    return tuple(facts[name] for name in telling)


def _swing(ranked: Sequence[Ranked], name: str) -> float:
    """Weights that all of the causes have in common tell nothing between them."""
    weights = [row.cause.facts[name] for row in ranked if name in row.cause.facts]
    missing = [0.0] if len(weights) < len(ranked) else []
    swings = [weight.holds - weight.fails for weight in weights] + missing
    return max(swings, default=0.0) - min(swings, default=0.0)
