"""Carries decisions out: begins movements, goes on with them round after round, and writes down how they end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from specwatch_detectors.fallback import intent, policy
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError, Position, Shares
from specwatch_detectors.fallback.controller_book import ControllerBook, plan_of, told
from specwatch_detectors.fallback.controller_memory import Memory
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.decision import Decision, Veto
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.inputs_json import inputs_as_json
from specwatch_detectors.fallback.intent import Movement
from specwatch_detectors.fallback.transition import Cause, Phase, Transition, same_shares, shares_text
from specwatch_detectors.fallback.transition_run import Ended, Ending, TransitionRun

_HOLDS: Final = frozenset({Veto.STALE, Veto.ROLLOUT, Veto.SCALING})
_PHASES: Final = {
    Phase.INTENDED: "to be set",
    Phase.APPLIED: "set and not in force yet",
    Phase.WATCHED: "in force and watched",
    Phase.UNDOING: "to be set back",
    Phase.BACK: "set back and not in force yet",
}


class Mover:
    """Moves the traffic of one controller.

    Args:
        rules: how it works.
        lever: what moves traffic.
        book: where everything is written down.
    """

    def __init__(self, rules: Rules, lever: Actuator, book: ControllerBook) -> None:
        self._rules = rules
        self._lever = lever
        self._book = book
        self._run = TransitionRun(lever, rules.steps, book.record)

    def begin(
        self,
        memory: Memory,
        wanted: Movement,
        decision: Decision,
        position: Position,
        states: tuple[FallbackState, FallbackState],
        inputs: FallbackInputs,
    ) -> None:
        """Write a movement down, and make as much of it as goes at once."""
        before, after = states
        self._book.show(decision=decision, reason=decision.reason)
        try:
            transition = intent.begun(wanted, decision, self._lever, position, self._book.now, after, before)
        except ActuatorError as error:
            self._refuse(replace(memory, policy=before), error, inputs, decision)
            return
        kept = replace(memory, policy=before, transition=transition, advised="", decided=self._book.now)
        self._book.write("intent", kept, decision.reason, **told(inputs, decision), **plan_of(transition))
        self._carry(transition, "")

    def _refuse(self, memory: Memory, error: ActuatorError, inputs: FallbackInputs, decision: Decision) -> None:
        """A movement that cannot even be planned."""
        wait = self._rules.steps.backoff_most_s if error.retry else self._rules.steps.refused_s
        held = replace(
            memory.vetoed("lever"), held_until=self._book.now + wait, held_by=f"the lever refuses: {error}"
        )
        self._book.show(decision=decision, reason=f"{decision.reason}; {held.held_by}")
        self._book.write("refused", held, held.held_by, **told(inputs, decision))

    def carry_on(self, memory: Memory, transition: Transition, inputs: FallbackInputs) -> None:
        """Go on with a movement; no further step of it is begun while the policy would veto."""
        if not self._rules.acting:
            words = f"a movement to {transition.level.words} is half done; it goes on only with --act"
            self._book.show(reason=words)
            self._book.write("round", memory.vetoed("dry_run"), words, inputs=inputs_as_json(inputs))
            return
        self._book.write("round", memory, _under_way(transition), inputs=inputs_as_json(inputs))
        self._carry(transition, self._hold(transition, inputs))

    def resume(self, transition: Transition, position: Position, began: float) -> None:
        """Look at what was left half done before it is gone on with.

        Args:
            transition: as it was left.
            position: of the lever now.
            began: time of the last entry before the restart.
        """
        gap = self._book.now - began
        if not transition.expects(position.shares):
            words = f"somebody else has set {shares_text(position.shares)} meanwhile; left as it is"
            self._end(Ended(Ending.OVERTAKEN, transition, position.shares, words))
        elif gap > self._rules.steps.resume_s and not transition.phase.backwards:
            moved = not same_shares(position.shares, transition.origin)
            note = f"half done for {gap:.0f} s: what was decided then may no longer hold"
            back = replace(transition, phase=Phase.UNDOING, note=note, moved=moved, failures=0, retry_at=0.0)
            self._book.record("undo", back, f"{note}; back to {shares_text(transition.origin)}")

    def _hold(self, transition: Transition, inputs: FallbackInputs) -> str:
        """Why no further step is begun, or nothing; the end of a probe is always safe."""
        if transition.cause is Cause.PROBE_END:
            return ""
        calm = replace(transition.else_, latched=False, probe_began=None)
        decision = policy.decide(calm, inputs, self._rules.policy)[1]
        return self._book.troubles.get("source", "") or (decision.reason if decision.veto in _HOLDS else "")

    def _carry(self, transition: Transition, hold: str) -> None:
        after = self._run.go_on(transition, self._book.now, hold)
        if isinstance(after, Ended):
            self._end(after)
            return
        self._book.show(reason=_under_way(after))
        self._show_lever(after.shares, settled=after.phase is Phase.WATCHED)

    def _show_lever(self, shares: Shares, *, settled: bool) -> None:
        """What was read of the lever at the round's start is not where this round has left it."""
        seen = self._book.next.position
        if seen is not None and not same_shares(seen.shares, shares):
            self._book.show(position=replace(seen, shares=dict(shares), settled=settled))

    def _end(self, ended: Ended) -> None:
        memory, transition = self._book.known, ended.transition
        state = intent.remembered(ended, self._book.now, self._rules.policy)
        kept = replace(memory, policy=state, transition=None, shares=dict(ended.shares))
        if ended.how in {Ending.DONE, Ending.UNDONE}:
            kept = kept.moved(_key(ended))
        else:
            held_until = self._book.now + self._rules.steps.refused_s
            kept = replace(kept.vetoed("lever"), held_until=held_until, held_by=ended.words)
        left = ended.how is Ending.DONE and transition.cause is Cause.NOT_PAYING
        if left or ended.how is Ending.OVERTAKEN:
            kept = replace(kept, left_revision=state.revision)
        self._book.show(reason=f"{transition.reason}; {ended.how.value}: {ended.words}")
        self._show_lever(ended.shares, settled=True)
        self._book.write(
            ended.how.value, kept, ended.words, cause=transition.cause.value, level=transition.level.value
        )


def _under_way(transition: Transition) -> str:
    wanted = transition.origin if transition.phase.backwards else transition.steps[transition.index]
    words = f"moving to {transition.level.words}: {shares_text(wanted)}, {_PHASES[transition.phase]}"
    return f"{words}; {transition.note}" if transition.note else words


def _key(ended: Ended) -> str:
    """Label values of a finished movement: from, to, cause."""
    origin = max(ended.transition.origin, key=lambda level: ended.transition.origin[level])
    cause = ended.transition.cause.value if ended.how is Ending.DONE else "undone"
    return f"{origin.value} {ended.transition.level.value} {cause}"
