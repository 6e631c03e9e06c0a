"""From a decision of the policy to a movement of traffic, and from its end to what the policy remembers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specwatch_detectors.fallback import policy
from specwatch_detectors.fallback.actuator import Actuator, Position, Shares
from specwatch_detectors.fallback.decision import Act, Decision
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.transition import Cause, Phase, Transition, same_shares, steps_to
from specwatch_detectors.fallback.transition_run import Ended, Ending


@dataclass(frozen=True, slots=True)
class Movement:
    """Where a decision wants the traffic.

    Attributes:
        cause: why.
        level: that gets more.
        share: of it at the end.
    """

    cause: Cause
    level: Level
    share: float


def movement(
    decision: Decision,
    after: FallbackState,
    settings: FallbackSettings,
    position: Shares,
    probe_share: float | None,
) -> Movement | None:
    """The movement that a decision asks for, or None if the traffic is there already.

    Args:
        decision: of the policy.
        after: its memory once the decision is carried out.
        settings: constants.
        position: shares now.
        probe_share: of the home level in a probe; 0 where a probe moves nothing, None where there is none.
    """
    if decision.act in {Act.STAY, Act.RECOMMEND}:
        return None
    if decision.act is Act.SWITCH:
        wanted = Movement(_switched(after, settings, probe_share), after.level, 1.0)
    elif not probe_share:
        return None
    elif after.probe_began is not None:
        wanted = Movement(Cause.PROBE, settings.home, probe_share)
    else:
        wanted = Movement(Cause.PROBE_END, after.level, 1.0)
    return None if same_shares(position, _shares(wanted, after.level)) else wanted


def _switched(after: FallbackState, settings: FallbackSettings, probe_share: float | None) -> Cause:
    """Why the policy switches."""
    if after.level is not settings.home:
        return Cause.NOT_PAYING
    if after.doubted is not None and after.doubted_at == after.since:
        return Cause.ESTIMATE_WRONG
    return Cause.NEW_REVISION if probe_share is None else Cause.PAYS_AGAIN


def begun(
    wanted: Movement,
    decision: Decision,
    lever: Actuator,
    position: Position,
    now: float,
    then: FallbackState,
    else_: FallbackState,
) -> Transition:
    """The transition to a wanted position, its first step planned and nothing moved.

    Raises:
        ActuatorError: the lever cannot plan it.
    """
    steps = steps_to(wanted.level, wanted.share, position.shares, lever.steps)
    in_probe = else_.probe_began is not None and wanted.cause not in {Cause.PROBE, Cause.PROBE_END}
    return Transition(
        cause=wanted.cause,
        level=wanted.level,
        reason=decision.reason,
        began=now,
        start=dict(position.shares),
        origin={else_.level: 1.0} if in_probe else dict(position.shares),
        steps=steps,
        index=0,
        phase=Phase.INTENDED,
        since=now,
        plan=lever.plan(steps[0]),
        then=then,
        else_=else_,
    )


def remembered(ended: Ended, now: float, settings: FallbackSettings) -> FallbackState:
    """What the policy remembers once a transition is over.

    A switch counts from the moment at which it is in force. One that was undone counts as a switch too, and nothing
    is tried again before the least stay is over.
    """
    transition = ended.transition
    if ended.how is Ending.DONE:
        return _done(transition, now)
    if ended.how is Ending.OVERTAKEN:
        return _found(transition.else_, max(ended.shares, key=lambda level: ended.shares[level]), now, settings)
    if transition.cause is Cause.PROBE_END:
        return replace(transition.else_, last=now)
    kept = replace(transition.else_, last=now)
    if transition.cause is Cause.PROBE or kept.probe_began is not None:
        kept = policy.end_probe(kept, now, settings, won=False, reason=ended.words)[0]
    if ended.how is Ending.UNDONE and transition.cause is not Cause.PROBE:
        kept = replace(kept, since=now, regret_s=0.0, flips=(*kept.flips, now))
    return kept


def found_elsewhere(state: FallbackState, level: Level, now: float, settings: FallbackSettings) -> FallbackState:
    """What the policy remembers once somebody else has moved the traffic to a level."""
    return _found(state, level, now, settings)


def _done(transition: Transition, now: float) -> FallbackState:
    then = replace(transition.then, last=now)
    if transition.cause is Cause.PROBE:
        return replace(then, probe_began=now)
    if transition.cause is Cause.PROBE_END:
        return then
    return replace(then, since=now, probe_at=None if then.probe_at is None else now + then.probe_wait_s)


def _found(state: FallbackState, level: Level, now: float, settings: FallbackSettings) -> FallbackState:
    fresh = policy.begin(settings, now, level)
    return replace(fresh, flips=state.flips, latched=state.latched, revision=state.revision, last=now)


def _shares(wanted: Movement, level: Level) -> Shares:
    return {wanted.level: 1.0} if wanted.share >= 1.0 else {wanted.level: wanted.share, level: 1.0 - wanted.share}
