"""A movement of traffic from one position to another, in steps, as it stands between two rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specwatch_detectors.fallback.actuator import Plan, Shares
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.level import Level

SAME: Final = 1e-3
"""Shares that differ by less are equal: levers count in whole weights."""


class Cause(StrEnum):
    """Why traffic moves. Values are label values: they stay as they are."""

    NOT_PAYING = "not_paying"
    PROBE = "probe"
    PROBE_END = "probe_end"
    PAYS_AGAIN = "pays_again"
    NEW_REVISION = "new_revision"
    ESTIMATE_WRONG = "estimate_wrong"
    OPERATOR = "operator"


class Phase(StrEnum):
    """How far a step is."""

    INTENDED = "intended"
    APPLIED = "applied"
    WATCHED = "watched"
    UNDOING = "undoing"
    BACK = "back"

    @property
    def backwards(self) -> bool:
        """Whether it leads back to where the transition began."""
        return self in {Phase.UNDOING, Phase.BACK}


@dataclass(frozen=True, slots=True)
class Transition:
    """A movement under way; a new one for every change.

    Attributes:
        cause: why.
        level: level that gets more traffic.
        reason: the decision's, in one sentence.
        began: seconds.
        start: shares before the first step.
        origin: shares to go back to: those of the start, without the share of a probe that is over.
        steps: shares after each step, the last one wanted.
        index: step that is being made.
        phase: of that step.
        since: when the phase began.
        plan: of that step, or of the one to undo.
        then: memory of the policy once it is done.
        else_: memory of the policy if it is undone or given up.
        moved: the lever was moved.
        failures: of the lever, in a row.
        retry_at: not before, seconds.
        note: what is in the way or why it is undone, or empty.
    """

    cause: Cause
    level: Level
    reason: str
    began: float
    start: Shares
    origin: Shares
    steps: tuple[Shares, ...]
    index: int
    phase: Phase
    since: float
    plan: Plan
    then: FallbackState
    else_: FallbackState
    moved: bool = False
    failures: int = 0
    retry_at: float = 0.0
    note: str = ""

    @property
    def last(self) -> bool:
        """Whether the step being made is the last."""
        return self.index + 1 >= len(self.steps)

    @property
    def shares(self) -> Shares:
        """Where it has left the lever."""
        if self.phase is Phase.BACK:
            return self.origin
        if self.phase is Phase.INTENDED:
            return self.steps[self.index - 1] if self.index else self.start
        return self.plan.shares if self.moved else self.start

    def expects(self, shares: Shares) -> bool:
        """Whether the lever is where this transition may have left it, killed at whatever point."""
        before = self.steps[self.index - 1] if self.index else self.start
        known = [self.plan.shares]
        if self.phase is Phase.INTENDED or self.phase.backwards:
            known.append(before)
        if self.phase.backwards:
            known.append(self.origin)
        return any(same_shares(shares, one) for one in known)

    def as_json(self) -> dict[str, Any]:
        """As JSON; `from_json` reads it."""
        return {
            "cause": self.cause.value,
            "level": self.level.value,
            "reason": self.reason,
            "began": self.began,
            "start": shares_as_json(self.start),
            "origin": shares_as_json(self.origin),
            "steps": [shares_as_json(step) for step in self.steps],
            "index": self.index,
            "phase": self.phase.value,
            "since": self.since,
            "plan": plan_as_json(self.plan),
            "then": self.then.as_json(),
            "else": self.else_.as_json(),
            "moved": self.moved,
            "failures": self.failures,
            "retry_at": self.retry_at,
            "note": self.note,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Transition:
        """Read what `as_json` wrote.

        Raises:
            ValueError: it is no transition.
        """
        try:
            return cls(
                cause=Cause(body["cause"]),
                level=Level(body["level"]),
                reason=str(body["reason"]),
                began=float(body["began"]),
                start=shares_from_json(body["start"]),
                origin=shares_from_json(body["origin"]),
                steps=tuple(shares_from_json(step) for step in body["steps"]),
                index=int(body["index"]),
                phase=Phase(body["phase"]),
                since=float(body["since"]),
                plan=plan_from_json(body["plan"]),
                then=FallbackState.from_json(body["then"]),
                else_=FallbackState.from_json(body["else"]),
                moved=bool(body["moved"]),
                failures=int(body["failures"]),
                retry_at=float(body["retry_at"]),
                note=str(body["note"]),
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"no transition: {error}") from error


def steps_to(level: Level, wanted: float, origin: Shares, shares: Sequence[float]) -> tuple[Shares, ...]:
    """Positions on the way to a share of a level.

    Args:
        level: that gets more.
        wanted: its share at the end, 0 to 1.
        origin: shares now; the others keep their proportions.
        shares: of a new level on the way to all, rising, the last 1.

    Returns:
        At least the wanted position.
    """
    has = origin.get(level, 0.0)
    on_the_way = [share for share in shares if has + SAME < share < wanted - SAME]
    return tuple(dict(_with_share(level, share, origin)) for share in (*on_the_way, wanted))


def _with_share(level: Level, share: float, origin: Shares) -> Iterator[tuple[Level, float]]:
    others = {other: own for other, own in origin.items() if other is not level and own > 0.0}
    total = sum(others.values())
    for other in Level:
        own = share if other is level else (1.0 - share) * others.get(other, 0.0) / total if total else 0.0
        if own > 0.0:
            yield other, own


def same_shares(one: Shares, other: Shares) -> bool:
    """Whether two positions are the same."""
    return all(abs(one.get(level, 0.0) - other.get(level, 0.0)) < SAME for level in Level)


def shares_text(shares: Shares) -> str:
    """Shares for a person: `5 % draft, 95 % ngram`."""
    parts = [f"{100.0 * share:.3g} % {level.value}" for level, share in shares.items() if share > 0.0]
    return ", ".join(parts) or "no traffic"


def shares_as_json(shares: Shares) -> dict[str, float]:
    """Shares as JSON."""
    return {level.value: share for level, share in shares.items()}


def shares_from_json(body: Mapping[str, Any]) -> Shares:
    """Read what `shares_as_json` wrote."""
    return {Level(name): float(share) for name, share in body.items()}


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """A plan as JSON."""
    return {
        "identity": plan.identity,
        "shares": shares_as_json(plan.shares),
        "before": shares_as_json(plan.before),
        "changes": [dict(change) for change in plan.changes],
        "text": plan.text,
    }


def plan_from_json(body: Mapping[str, Any]) -> Plan:
    """Read what `plan_as_json` wrote."""
    return Plan(
        str(body["identity"]),
        shares_from_json(body["shares"]),
        shares_from_json(body["before"]),
        tuple(body["changes"]),
        str(body["text"]),
    )
