"""Carry a transition on: as far as it goes now without waiting, every change written down first.

A step is intended, applied, verified until it has settled, and watched; then comes the next. A regression, a step
that does not settle, and a lever that refuses are answered by going back to where it began. Going back is never
given up: it is tried again, ever more slowly, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from specwatch_detectors.fallback.actuator import Actuator, ActuatorError, Shares
from specwatch_detectors.fallback.transition import Cause, Phase, Transition, same_shares, shares_text
from specwatch_detectors.fallback.transition_settings import TransitionSettings


class Ending(StrEnum):
    """How a transition ended."""

    DONE = "done"
    UNDONE = "undone"
    REFUSED = "refused"
    OVERTAKEN = "overtaken"


@dataclass(frozen=True, slots=True)
class Ended:
    """A transition that is over.

    Attributes:
        how: done, undone after the lever was moved, refused before it was, or overtaken by somebody else.
        transition: as it was last.
        shares: where the lever is.
        words: in one sentence.
    """

    how: Ending
    transition: Transition
    shares: Shares
    words: str


Record = Callable[[str, Transition, str], None]
"""Writes a change down: its kind, the transition as it is from now on, and a sentence."""


class TransitionRun:
    """Carries transitions on.

    Args:
        lever: that is moved.
        settings: constants.
        record: called before the lever is moved and after each change.
    """

    def __init__(self, lever: Actuator, settings: TransitionSettings, record: Record) -> None:
        self._lever = lever
        self._settings = settings
        self._record = record

    def go_on(self, transition: Transition, now: float, hold: str = "") -> Transition | Ended:
        """As far as it goes now.

        Args:
            transition: as it stands.
            now: seconds.
            hold: why no further step may be begun, or empty; a step that was begun is finished, or undone.

        Returns:
            What is left, or how it ended; the end is not written down yet.
        """
        if now < transition.retry_at:
            return transition
        while True:
            try:
                after = self._step(transition, now, hold)
            except ActuatorError as error:
                after = self._failed(transition, now, error)
            if isinstance(after, Ended) or after is transition or after.retry_at > now:
                return after
            transition = after

    def _step(self, transition: Transition, now: float, hold: str) -> Transition | Ended:
        if transition.phase is Phase.INTENDED:
            return self._apply(transition, now, hold)
        if transition.phase is Phase.APPLIED:
            return self._verify(transition, now)
        if transition.phase is Phase.WATCHED:
            return self._watch(transition, now, hold)
        if transition.phase is Phase.UNDOING:
            return self._undo(transition, now)
        return self._settle_back(transition, now)

    def _apply(self, transition: Transition, now: float, hold: str) -> Transition:
        if hold:
            return self._noted(transition, f"held: {hold}")
        plan = transition.plan
        if not same_shares(self._lever.describe().shares, plan.shares):  # else it was applied before a restart
            self._lever.apply(plan)
        return self._to(transition, "applied", Phase.APPLIED, now, f"set to {shares_text(plan.shares)}")

    def _verify(self, transition: Transition, now: float) -> Transition | Ended:
        plan = transition.plan
        position = self._lever.verify(plan)
        there = same_shares(position.shares, plan.shares)
        if not there and position.foreign:
            words = f"{position.foreign} has set {shares_text(position.shares)} meanwhile; left as it is"
            return Ended(Ending.OVERTAKEN, transition, position.shares, words)
        if there and position.settled:
            if transition.last and transition.cause in {Cause.PROBE, Cause.PROBE_END}:
                return Ended(Ending.DONE, transition, position.shares, shares_text(position.shares))
            words = f"in force: {shares_text(plan.shares)}; watched for {self._settings.watch_s:.0f} s"
            return self._to(transition, "settled", Phase.WATCHED, now, words)
        if now - transition.since > self._settings.settle_s:
            why = position.note or f"the lever is at {shares_text(position.shares)}"
            return self._back(transition, now, f"not settled after {now - transition.since:.0f} s: {why}")
        return transition

    def _watch(self, transition: Transition, now: float, hold: str) -> Transition | Ended:
        health = self._lever.health()
        if health.known and not health.ok:
            return self._back(transition, now, health.reason)
        watched = now - transition.since
        if watched < (self._settings.watch_s if health.known else self._settings.watch_most_s):
            return transition
        if transition.last:
            return Ended(Ending.DONE, transition, transition.plan.shares, health.reason)
        if hold:
            return self._noted(transition, f"held: {hold}")
        plan = self._lever.plan(transition.steps[transition.index + 1])
        after = replace(transition, plan=plan, index=transition.index + 1)
        return self._to(after, "intent", Phase.INTENDED, now, f"{health.reason}; next {shares_text(plan.shares)}")

    def _undo(self, transition: Transition, now: float) -> Transition | Ended:
        position = self._lever.describe()
        there = same_shares(position.shares, transition.origin)
        if there and not transition.moved:
            return Ended(Ending.REFUSED, transition, position.shares, transition.note)
        if not there:  # else it was undone before a restart
            self._lever.undo(replace(transition.plan, before=transition.origin))
        return self._to(
            transition, "undo_applied", Phase.BACK, now, f"set back to {shares_text(transition.origin)}"
        )

    def _settle_back(self, transition: Transition, now: float) -> Transition | Ended:
        position = self._lever.describe()
        if not same_shares(position.shares, transition.origin):
            self._lever.undo(replace(transition.plan, before=transition.origin))
            return replace(transition, retry_at=now + self._settings.backoff_s)
        if position.settled:
            return Ended(Ending.UNDONE, transition, position.shares, transition.note)
        return transition

    def _back(self, transition: Transition, now: float, why: str) -> Transition:
        after = replace(transition, note=why)
        return self._to(after, "undo", Phase.UNDOING, now, f"{why}; back to {shares_text(transition.origin)}")

    def _failed(self, transition: Transition, now: float, error: ActuatorError) -> Transition:
        failures = transition.failures + 1
        patience = failures < self._settings.tries
        if not transition.phase.backwards and not (error.retry and patience):
            why = f"the lever refuses: {error}" if not error.retry else f"given up after {failures} tries: {error}"
            return self._back(transition, now, why)
        asked = min(error.wait_s, self._settings.refused_s)
        wait = max(asked, self._settings.backoff(failures)) if error.retry else self._settings.refused_s
        words = f"{error}; tried again in {wait:.0f} s"
        note = transition.note if transition.phase.backwards else str(error)
        after = replace(transition, failures=failures, retry_at=now + wait, note=note)
        self._record("waiting", after, words)
        return after

    def _to(self, transition: Transition, kind: str, phase: Phase, now: float, words: str) -> Transition:
        note = transition.note if phase.backwards else ""
        moved = transition.moved or phase in {Phase.APPLIED, Phase.BACK}
        after = replace(transition, phase=phase, since=now, failures=0, retry_at=0.0, note=note, moved=moved)
        self._record(kind, after, words)
        return after

    def _noted(self, transition: Transition, note: str) -> Transition:
        """Say once what is in the way; `transition` itself if it was said."""
        if transition.note == note:
            return transition
        after = replace(transition, note=note)
        self._record("held", after, note)
        return after
