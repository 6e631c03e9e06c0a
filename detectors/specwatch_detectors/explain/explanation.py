"""The answer to "why did acceptance move?", and how it is found.

Order of questions: are there enough drafts; did acceptance fall at all; then the facts (events at the onset,
canary, mix or within classes, which groups, shape over positions, step time) are weighed for every cause.
"Cannot tell" is an answer, with the candidates and what would separate them.

Pure Python, no files but the table of causes, which is read once: a sidecar may call it on every alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specwatch_detectors.explain.evidence import Dimension, Evidence
from specwatch_detectors.explain.fact import Fact
from specwatch_detectors.explain.fact_table import look_up
from specwatch_detectors.explain.kitagawa import Split
from specwatch_detectors.explain.picture import Picture, draw
from specwatch_detectors.explain.scoring import Ranked, Ranking, rank, separating
from specwatch_detectors.explain.shape import Shape
from specwatch_detectors.explain.signatures import Signature, shipped

LEAST_EFFECTIVE: Final = 30.0
"""Drafts over design effect on each side, below which nothing is said."""
_CANDIDATE: Final = 0.08
_RIVALS: Final = 5
_LOW_VOLUME: Final = "low_volume"


class Outcome(StrEnum):
    """What kind of answer it is."""

    NAMED = "named"
    CANNOT_TELL = "cannot_tell"
    NO_CHANGE = "no_change"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why acceptance moved.

    Attributes:
        outcome: a cause is named, or it cannot be told, or nothing moved.
        cause: id of the cause in `signatures.toml`, or None if none is named.
        headline: the answer in one sentence.
        says: what the cause means for a person; empty if none is named.
        candidates: the named cause alone, or those that cannot be told apart; likeliest first.
        next_checks: what to do now.
        would_tell: facts that are not known and would separate the candidates.
        split: mix and within terms by traffic class, or None without classes.
        shape: over positions.
        facts: everything that was looked up, by name.
        ranking: all causes of the table; empty if it was not weighed.
        known: which evidence there was, by words.
    """

    outcome: Outcome
    cause: str | None
    headline: str
    says: str
    candidates: tuple[Ranked, ...]
    next_checks: tuple[str, ...]
    would_tell: tuple[str, ...]
    split: Split | None
    shape: Shape
    facts: dict[str, Fact]
    ranking: Ranking
    known: dict[str, bool]

    @property
    def confidence(self) -> float | None:
        """Share of belief of the named cause, 0 to 1; None if none is named."""
        return self.candidates[0].probability if self.outcome is Outcome.NAMED else None

    def as_json(self) -> dict[str, Any]:
        """The answer as JSON; unknown is null."""
        split = self.split
        terms = None if split is None else {"total": split.total, "mix": split.mix, "within": split.within}
        return {
            "outcome": self.outcome.value,
            "cause": self.cause,
            "confidence": self.confidence,
            "headline": self.headline,
            "says": self.says,
            "candidates": [ranked.as_json() for ranked in self.candidates],
            "next_checks": list(self.next_checks),
            "would_tell": list(self.would_tell),
            "split": terms and {name: {"value": term.value, "error": term.error} for name, term in terms.items()},
            "shape": {"kind": self.shape.kind.value, "a": self.shape.a, "b": self.shape.b},
            "facts": {name: {"holds": fact.holds, "words": fact.words} for name, fact in self.facts.items()},
            "known": self.known,
        }

    def text(self) -> str:
        """The answer in plain words, several lines."""
        lines = [self.headline, *([self.says] if self.says else [])]
        for ranked in self.candidates:
            lines += ["", f"{ranked.cause.name} ({ranked.share})"]
            lines += [f"  for: {reason.words}" for reason in ranked.evidence_for]
            lines += [f"  against: {reason.words}" for reason in ranked.evidence_against]
        if self.would_tell:
            lines += ["", "Would tell more:", *(f"  - {words}" for words in self.would_tell)]
        if self.next_checks:
            lines += ["", "Next:", *(f"  - {check}" for check in self.next_checks)]
        return "\n".join(lines)


def explain(evidence: Evidence, causes: Sequence[Signature] | None = None) -> Explanation:
    """Say why acceptance moved between the two spans of the evidence.

    Args:
        evidence: what is known.
        causes: the table of causes; the one that comes with specwatch if None.
    """
    table = shipped() if causes is None else tuple(causes)
    picture = draw(evidence)
    facts = look_up(picture)
    answer = _too_few(picture, facts, table) or _unmoved(picture, facts)
    if answer is not None:
        return answer
    ranking = rank(facts, table)
    named = ranking.named
    return _cannot_tell(picture, facts, ranking) if named is None else _named(picture, facts, ranking, named)


def _too_few(picture: Picture, facts: dict[str, Fact], table: Sequence[Signature]) -> Explanation | None:
    if picture.effective_drafts >= LEAST_EFFECTIVE:
        return None
    total, needed = picture.evidence.total, LEAST_EFFECTIVE * picture.evidence.design
    headline = (
        f"Cannot tell: {total.before.drafts:,.0f} drafts before and {total.after.drafts:,.0f} after; "
        f"each side needs {needed:,.0f} or more"
    )
    cause = next((row for row in table if row.id == _LOW_VOLUME), None)
    checks = cause.checks if cause is not None else ()
    says = cause.says if cause is not None else ""
    return _answer(picture, facts, Outcome.CANNOT_TELL, headline, says=says, checks=checks)


def _unmoved(picture: Picture, facts: dict[str, Fact]) -> Explanation | None:
    fell = facts["acceptance_fell"]
    other = facts["step_cost_rose"].holds or facts["follows_batch"].holds or facts["not_speculating"].holds
    if fell.holds or other:
        return None
    if fell.holds is False:
        return _answer(picture, facts, Outcome.NO_CHANGE, f"Acceptance has not fallen: {fell.words}")
    headline = f"Cannot tell whether acceptance fell: {fell.words}"
    return _answer(picture, facts, Outcome.CANNOT_TELL, headline, checks=("Compare longer spans.",))


def _named(picture: Picture, facts: dict[str, Fact], ranking: Ranking, named: Ranked) -> Explanation:
    sure = named.probability >= 0.9
    would_tell = () if sure else _would_tell(ranking.causes[:_RIVALS], facts)
    headline = f"{'Very likely' if sure else 'Likely'}: {named.cause.name}"
    rollout = named.cause.facts.get("rollout_near")
    if rollout is not None and rollout.holds > 0.0 and facts["rollout_near"].holds is None:
        headline += " (whether anything was deployed is not known)"
    return _answer(
        picture,
        facts,
        Outcome.NAMED,
        headline,
        cause=named.cause.id,
        says=named.cause.says,
        candidates=(named,),
        checks=named.cause.checks,
        would_tell=would_tell,
        ranking=ranking,
    )


def _cannot_tell(picture: Picture, facts: dict[str, Fact], ranking: Ranking) -> Explanation:
    candidates = tuple(row for row in ranking.causes[:4] if row.probability >= _CANDIDATE)
    names = "; or ".join(row.cause.name for row in candidates[:2])
    likeliest = f"Likeliest: {names}" if names else "Nothing in the table of causes fits"
    would_tell = _would_tell(ranking.causes[:_RIVALS], facts)
    checks = [f"Find out: {words}" for words in would_tell[:2]]
    checks += [row.cause.checks[0] for row in candidates[:3]]
    return _answer(
        picture,
        facts,
        Outcome.CANNOT_TELL,
        ". ".join(("Cannot tell why acceptance moved", *_settled(facts), likeliest)),
        candidates=candidates,
        checks=tuple(dict.fromkeys(checks)),
        would_tell=would_tell,
        ranking=ranking,
    )


def _settled(facts: dict[str, Fact]) -> tuple[str, ...]:
    """What is certain although the cause is not."""
    if facts["within_fell"].holds:
        return ("It is not the mix of traffic: acceptance fell inside the classes",)
    if facts["mix_explains"].holds:
        return ("No class accepts less by itself",)
    return ("Whether it is the mix of traffic is not known",) if facts["within_fell"].holds is None else ()


def _would_tell(rivals: Sequence[Ranked], facts: dict[str, Fact]) -> tuple[str, ...]:
    """The most telling unknown facts, each way of saying it once."""
    found = (fact.missing or f"more drafts ({fact.words})" for fact in separating(rivals, facts))
    return tuple(dict.fromkeys(found))[:5]


def _answer(
    picture: Picture,
    facts: dict[str, Fact],
    outcome: Outcome,
    headline: str,
    *,
    cause: str | None = None,
    says: str = "",
    candidates: tuple[Ranked, ...] = (),
    checks: tuple[str, ...] = (),
    would_tell: tuple[str, ...] = (),
    ranking: Ranking | None = None,
) -> Explanation:
    return Explanation(
        outcome,
        cause,
        headline,
        says,
        candidates,
        checks,
        would_tell,
        picture.splits.get(Dimension.CLASS),
        picture.shape,
        facts,
        Ranking((), 1.0) if ranking is None else ranking,
        picture.evidence.known(),
    )
