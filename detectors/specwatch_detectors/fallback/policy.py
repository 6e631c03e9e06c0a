"""The fallback policy: a pure function of memory and inputs.

Leave a level when, by bounds, another one that the deployment has is better by the margin, and the capacity lost
so far exceeds what a switch costs (ski rental: never more than twice the cost of knowing the future; Karlin et al.
1988). On a fallback the drafter gives no signal, so a small share of traffic probes it, at growing intervals, and
two paying probes bring it home. A level that was entered on an estimate and, measured, gives less than home gave is
left for home at once, and its estimate is not believed for a while. Whatever is unknown, stale or in motion vetoes;
every answer says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from specwatch_detectors.fallback.decision import Act, Decision, Veto
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.payoff.payoff import Bounds

DAY_S: Final = 86_400.0
"""Over which `flips_per_day` counts."""

Outcome = tuple[FallbackState, Decision]


def begin(settings: FallbackSettings, now: float, level: Level | None = None) -> FallbackState:
    """The memory of a new controller, on the home level unless the deployment is found on another one."""
    start = FallbackState(settings.home, now)
    return start if level is None or level is settings.home else _entered(start, settings, level, now)


def unlatch(state: FallbackState) -> FallbackState:
    """Somebody has looked: switching is allowed again, and the day's count starts anew."""
    return replace(state, latched=False, flips=())


def danger(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> str:
    """Why not even a person's order sends traffic to the next level now, or empty.

    Latched, pods in motion, old data, too many switches. Whether it pays, and how long it has stayed, a person may
    know better.
    """
    veto = _veto(state, inputs, settings)
    if veto is not None and veto[0] not in {Veto.UNKNOWN, Veto.LOW_VOLUME}:
        return veto[1]
    made = sum(inputs.now - at < DAY_S for at in state.flips)
    return f"{made} switches were made in a day" if made >= settings.flips_per_day else ""


def sent_down(state: FallbackState, now: float, settings: FallbackSettings) -> FallbackState | None:
    """The memory on the next level behind, entered by order, or None if there is none; probes lead home from it."""
    behind = [level for level in settings.levels if level.depth > state.level.depth]
    level = min(behind, key=lambda one: one.depth, default=None)
    return None if level is None else _entered(state, settings, level, now, flip=True)


def decide(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> Outcome:
    """One round.

    Args:
        state: memory of the last round.
        inputs: what is known now.
        settings: constants.

    Returns:
        The new memory, in which a wanted switch is already made: whoever cannot carry it out keeps the old one.
    """
    state = advance(state, inputs, settings)
    veto = _veto(state, inputs, settings)
    if veto is not None:
        if state.probe_began is not None:
            return end_probe(state, inputs.now, settings, won=False, reason=f"the probe ends: {veto[1]}")
        return state, Decision(Act.STAY, state.level, veto[1], veto[0])
    return _going_on(state, inputs, settings) if state.probe_began is None else _probing(state, inputs, settings)


def _going_on(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> Outcome:
    """A round without a veto and without a probe under way."""
    mistaken = _mistaken(state, inputs, settings)
    if mistaken is not None:
        return mistaken
    leaving = _leaving(state, inputs, settings)
    if leaving.act is not Act.STAY or state.level is settings.home:
        return _carried_out(state, leaving, inputs, settings)
    if state.probe_at is not None and inputs.now >= state.probe_at:
        reason = f"time to see whether {settings.home.words} pays again"
        return replace(state, probe_began=inputs.now), Decision(Act.PROBE, state.level, reason)
    wait = "" if state.probe_at is None else f"; next probe in {state.probe_at - inputs.now:.0f} s"
    return state, replace(leaving, reason=leaving.reason + wait)


def advance(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> FallbackState:
    """Time has passed: old flips are forgotten, regret grows or ends, a new revision is a reason to probe."""
    flips = tuple(at for at in state.flips if inputs.now - at < DAY_S)
    state = replace(state, flips=flips, last=inputs.now, regret_s=_regret(state, inputs, settings))
    if inputs.revision and inputs.revision != state.revision:
        soon = state.probe_at is not None and bool(state.revision)
        at = min(state.probe_at or inputs.now, inputs.now) if soon else state.probe_at
        wait = settings.probe_first_s if soon else state.probe_wait_s
        state = replace(state, revision=inputs.revision, probe_at=at, probe_wait_s=wait)
    return state


def _regret(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> float:
    here, best = inputs.of(state.level), _best(state, inputs, settings)
    if state.last is None or here is None or best is None or _stale(inputs, settings):
        return state.regret_s
    lost = 1.0 - here.estimate / best[1].estimate
    if lost <= 0.0:
        return 0.0
    return state.regret_s + lost * min(settings.gap_s, max(0.0, inputs.now - state.last))


def _best(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> tuple[Level, Bounds] | None:
    """The best level behind this one whose speed-up is known and not in doubt."""
    doubted = state.doubted if inputs.now - state.doubted_at < settings.doubt_s else None
    behind = [other for other in settings.levels if other.depth > state.level.depth and other is not doubted]
    found = [(other, inputs.of(other)) for other in behind]
    known = [(other, bounds) for other, bounds in found if bounds is not None and bounds.estimate > 0.0]
    return max(known, key=lambda pair: pair[1].estimate, default=None)


def _stale(inputs: FallbackInputs, settings: FallbackSettings) -> bool:
    return inputs.measured_at is None or inputs.now - inputs.measured_at > settings.stale_after_s


def _veto(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> tuple[Veto, str] | None:
    if state.latched:
        made = f"{len(state.flips)} of {settings.flips_per_day} switches of a day"
        return Veto.LATCHED, f"latched with {made} made: somebody must look and unlatch"
    if inputs.rollout:
        return Veto.ROLLOUT, "pods are being replaced: what is measured now is a mixture"
    if inputs.scaling:
        return Veto.SCALING, "pods are being added and are not ready"
    return _data_veto(state, inputs, settings)


def _data_veto(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> tuple[Veto, str] | None:
    """Data that nothing may be done on: old, missing, or too little."""
    if _stale(inputs, settings):
        if inputs.measured_at is None:
            return Veto.STALE, f"whether {state.level.words} pays was not measured: nothing is done on nothing"
        age = inputs.now - inputs.measured_at
        measured = f"whether {state.level.words} pays was measured {age:.0f} s ago"
        return Veto.STALE, f"{measured}: nothing is done on old data"
    if inputs.of(state.level) is None:
        return Veto.UNKNOWN, f"whether {state.level.words} pays is not known"
    if state.level is not Level.OFF and inputs.effective_drafts < settings.least_effective:
        seen = f"{inputs.effective_drafts:.0f} effective drafts of {settings.least_effective:.0f}"
        return Veto.LOW_VOLUME, f"too little traffic: {seen}"
    return None


def _leaving(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> Decision:
    """Whether another level behind this one is better, with what it takes to go there."""
    here, best = inputs.of(state.level), _best(state, inputs, settings)
    if here is None or best is None:
        return Decision(Act.STAY, state.level, f"{state.level.words}: there is nothing behind it that is known")
    level, there = best
    if here.upper >= (1.0 - settings.margin) * there.estimate:
        return Decision(
            Act.STAY, state.level, f"{state.level.words} gives {here}, {level.words} {there.estimate:.2f}x"
        )
    worse = f"{state.level.words} gives {here}, {level.words} {there.estimate:.2f}x"
    if inputs.adapts:
        reason = f"{worse}; the engine adapts by itself ({inputs.adapts}), so this is advice only"
        return Decision(Act.RECOMMEND, level, reason, Veto.ADAPTS)
    waited = inputs.now - state.since
    if waited < settings.dwell_s:
        reason = f"{worse}; {settings.dwell_s - waited:.0f} s of the least stay are left"
        return Decision(Act.STAY, state.level, reason, Veto.DWELL)
    if state.regret_s <= settings.switch_cost_s:
        reason = f"{worse}; {state.regret_s:.0f} s of capacity lost, a switch costs {settings.switch_cost_s:.0f} s"
        return Decision(Act.STAY, state.level, reason, Veto.REGRET)
    return Decision(Act.SWITCH, level, f"{worse}; lost so far {state.regret_s:.0f} s of capacity")


def _mistaken(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> Outcome | None:
    """Home at once, if the level in force gives less than home gave when it was left, and so does all behind it.

    What home gave must be young enough; the least stay is kept, and the last switch of a day may be used, because
    home is the better place to be latched.
    """
    here, behind, waited = inputs.of(state.level), _best(state, inputs, settings), inputs.now - state.since
    if here is None or state.left <= 0.0 or not settings.dwell_s <= waited <= settings.recall_s:
        return None
    best = max(here.upper, 0.0 if behind is None else behind[1].estimate)
    if state.left <= (1.0 + settings.margin) * best or len(state.flips) >= settings.flips_per_day:
        return None
    home = settings.home
    reason = (
        f"{state.level.words} gives {here}, and {home.words} gave at least {state.left:.2f}x when it was left: the"
        f" estimate was wrong and is not believed for {settings.doubt_s / 3600.0:.3g} h"
    )
    entered = _entered(state, settings, home, inputs.now, flip=True)
    return replace(entered, doubted=state.level, doubted_at=inputs.now), Decision(Act.SWITCH, home, reason)


def _probing(state: FallbackState, inputs: FallbackInputs, settings: FallbackSettings) -> Outcome:
    began = inputs.now if state.probe_began is None else state.probe_began
    here, probe = inputs.of(state.level), inputs.probe
    if here is None or probe is None:
        if inputs.now - began >= settings.probe_s:
            return end_probe(state, inputs.now, settings, won=False, reason="the probe saw too little traffic")
        return state, Decision(Act.PROBE, state.level, f"probing {settings.home.words}: nothing measured yet")
    needed = (1.0 + settings.margin) * here.estimate
    words = f"the probe gives {probe}, needed {needed:.2f}x"
    if probe.lower > needed:
        return end_probe(state, inputs.now, settings, won=True, reason=words)
    if probe.upper < needed or inputs.now - began >= settings.probe_s:
        return end_probe(state, inputs.now, settings, won=False, reason=words)
    return state, Decision(Act.PROBE, state.level, f"probing {settings.home.words}: {words}")


def end_probe(state: FallbackState, now: float, settings: FallbackSettings, *, won: bool, reason: str) -> Outcome:
    """The probe is over, for a reason that the policy or whoever carries it out has seen.

    Args:
        state: memory.
        now: seconds.
        settings: constants.
        won: it paid.
        reason: in one clause.
    """
    wins = state.wins + 1 if won else 0
    if won and wins >= settings.probe_wins:
        return come_home(replace(state, probe_began=None, wins=wins), now, settings, reason)
    wait = settings.probe_first_s if won else min(settings.probe_most_s, 2.0 * state.probe_wait_s)
    state = replace(state, probe_began=None, wins=wins, probe_at=now + wait, probe_wait_s=wait)
    count = f"; {wins} of {settings.probe_wins} paying probes" if won else ""
    return state, Decision(Act.END_PROBE, state.level, f"{reason}{count}; next probe in {wait:.0f} s")


def come_home(state: FallbackState, now: float, settings: FallbackSettings, reason: str) -> Outcome:
    """Come home, if a switch away from there is left in the day; else latch here, where it is safe."""
    if settings.flips_per_day - len(state.flips) < 2:
        latched = replace(state, latched=True, wins=0)
        words = f"{reason}; but this is switch {len(state.flips) + 1} of {settings.flips_per_day} in a day"
        return latched, Decision(
            Act.LATCH, state.level, f"{words}, and none would be left to leave again", Veto.FLIPS
        )
    waited = now - state.since
    if waited < settings.dwell_s:
        at = state.since + settings.dwell_s
        held = replace(state, probe_at=at, wins=state.wins - 1)
        words = f"{reason}; {settings.dwell_s - waited:.0f} s of the least stay are left"
        return held, Decision(Act.END_PROBE, state.level, words, Veto.DWELL)
    return _entered(state, settings, settings.home, now, flip=True), Decision(Act.SWITCH, settings.home, reason)


def _carried_out(
    state: FallbackState, decision: Decision, inputs: FallbackInputs, settings: FallbackSettings
) -> Outcome:
    if decision.act is not Act.SWITCH:
        return state, decision
    if len(state.flips) >= settings.flips_per_day:
        reason = f"{decision.reason}; but {len(state.flips)} switches were made in a day"
        return replace(state, latched=True), Decision(Act.LATCH, state.level, reason, Veto.FLIPS)
    here = inputs.of(state.level)
    left = here.lower if here is not None and state.level is settings.home else 0.0
    return replace(_entered(state, settings, decision.level, inputs.now, flip=True), left=left), decision


def _entered(
    state: FallbackState, settings: FallbackSettings, level: Level, now: float, *, flip: bool = False
) -> FallbackState:
    away = level is not settings.home
    return replace(
        state,
        level=level,
        since=now,
        regret_s=0.0,
        flips=(*state.flips, now) if flip else state.flips,
        probe_began=None,
        probe_at=now + settings.probe_first_s if away else None,
        probe_wait_s=settings.probe_first_s if away else 0.0,
        wins=0,
        left=0.0,
    )
