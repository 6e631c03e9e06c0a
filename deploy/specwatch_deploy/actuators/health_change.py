"""Whether what receives traffic got worse: error rate and p99 against before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specwatch_detectors.fallback.actuator import Health
from specwatch_detectors.fallback.level import Level


@dataclass(frozen=True, slots=True)
class HealthChange:
    """One level, before and after a movement; what is unknown is None.

    Attributes:
        requests: seen on the level since the movement.
        error_rate_before: failed requests over all, 0 to 1, of the traffic as it was.
        error_rate_after: the same on the level now.
        p99_before_s: seconds, of the traffic as it was.
        p99_after_s: the same on the level now.
        unreachable: of the requests, those that did not reach the level at all.
        unit: of p99.
    """

    requests: int
    error_rate_before: float | None
    error_rate_after: float | None
    p99_before_s: float | None
    p99_after_s: float | None
    unreachable: int = 0
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """What still counts as no worse.

    Attributes:
        requests: fewest to judge by. 100: one failure is then 1 %, the limit itself.
        error_rise: of the error rate, absolute. 0.01: twice the usual error budget of 0.5 %.
        p99_ratio: after over before. 1.5: p99 of a few hundred requests moves by a fifth by chance, and a fallback
            may be a little slower than a drafter at its best.
    """

    requests: int = 100
    error_rise: float = 0.01
    p99_ratio: float = 1.5


def judge(level: Level, change: HealthChange | None, limits: HealthLimits) -> Health:
    """One level's health."""
    if change is None:
        return Health(ok=False, reason=f"{level.words}: nobody measures it", known=False)
    if change.requests < limits.requests:
        seen = f"{change.requests} of {limits.requests} requests"
        return Health(ok=False, reason=f"{level.words}: too little traffic to tell ({seen})", known=False)
    if change.unreachable >= change.requests:
        words = f"cannot be reached: all of its {change.requests} requests failed or went elsewhere"
        return Health(ok=False, reason=f"{level.words} {words}; how it does could not be measured")
    errors = _errors(change, limits)
    slower = _slower(change, limits)
    worse = [said for bad, said in (errors, slower) if bad]
    if worse:
        return Health(ok=False, reason=f"{level.words}: {', '.join(worse)}")
    said = ", ".join(said for _, said in (errors, slower) if said)
    if not said:
        return Health(ok=False, reason=f"{level.words}: neither error rate nor p99 is known", known=False)
    return Health(ok=True, reason=f"{level.words}: {said}")


def judge_all(found: Iterable[Health]) -> Health:
    """Health of several levels: the worst of them, and unknown if any is."""
    all_of_them = list(found)
    reason = "; ".join(health.reason for health in all_of_them)
    if any(health.known and not health.ok for health in all_of_them):
        return Health(ok=False, reason=reason)
    known = bool(all_of_them) and all(health.known for health in all_of_them)
    return Health(ok=known, reason=reason or "nothing receives traffic", known=known)


def _errors(change: HealthChange, limits: HealthLimits) -> tuple[bool, str]:
    before, after = change.error_rate_before, change.error_rate_after
    if after is None:
        return False, ""
    was = "not known before" if before is None else f"{before:.2%} before"
    missed = f", {change.unreachable} of {change.requests} requests did not reach it" if change.unreachable else ""
    return after - (before or 0.0) > limits.error_rise, f"errors {after:.2%} ({was}{missed})"


def _slower(change: HealthChange, limits: HealthLimits) -> tuple[bool, str]:
    before, after = change.p99_before_s, change.p99_after_s
    if before is None or after is None or before <= 0.0:
        return False, ""
    return after > limits.p99_ratio * before, f"p99 {after:.3g} {change.unit} ({before:.3g} before)"
