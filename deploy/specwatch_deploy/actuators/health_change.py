"""Whether what receives traffic got worse: error rate and p99 against before; who measures them is passed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """

    requests: int
    error_rate_before: float | None
    error_rate_after: float | None
    p99_before_s: float | None
    p99_after_s: float | None


HealthReader = Callable[[Level], HealthChange | None]
"""Measures one level; None if it cannot."""


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
        seen = f"{change.requests} requests of {limits.requests}"
        return Health(ok=False, reason=f"{level.words}: too little traffic to tell ({seen})", known=False)
    errors = _errors(change, limits)
    slower = _slower(change, limits)
    worse = [said for bad, said in (errors, slower) if bad]
    if worse:
        return Health(ok=False, reason=f"{level.words}: {', '.join(worse)}")
    said = ", ".join(said for _, said in (errors, slower) if said)
    if not said:
        return Health(ok=False, reason=f"{level.words}: neither error rate nor p99 is known", known=False)
    return Health(ok=True, reason=f"{level.words}: {said}")


def judge_all(levels: Iterable[Level], read: HealthReader | None, limits: HealthLimits) -> Health:
    """Health of all levels that receive traffic: the worst of them, and unknown if any is."""
    found = [judge(level, None if read is None else read(level), limits) for level in levels]
    reason = "; ".join(health.reason for health in found)
    if any(health.known and not health.ok for health in found):
        return Health(ok=False, reason=reason)
    known = bool(found) and all(health.known for health in found)
    return Health(ok=known, reason=reason or "nothing receives traffic", known=known)


def _errors(change: HealthChange, limits: HealthLimits) -> tuple[bool, str]:
    before, after = change.error_rate_before, change.error_rate_after
    if after is None:
        return False, ""
    was = before or 0.0
    return after - was > limits.error_rise, f"errors {was:.2%} to {after:.2%}"


def _slower(change: HealthChange, limits: HealthLimits) -> tuple[bool, str]:
    before, after = change.p99_before_s, change.p99_after_s
    if before is None or after is None or before <= 0.0:
        return False, ""
    return after > limits.p99_ratio * before, f"p99 {before:.3g} s to {after:.3g} s"
