"""The controller: look, decide, write down, move; one short round after another.

Nothing is moved that was not written to the audit log before, and what the controller remembers is what the log's
last entry holds: a controller that is killed at any point goes on from there, and finds by asking the lever whether
its last movement was made. Without permission to act it writes what it would have done, and remembers that it did
not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from specwatch_detectors.fallback import intent, policy
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError, Position, Shares
from specwatch_detectors.fallback.audit_log import AuditError, AuditLog
from specwatch_detectors.fallback.controller_book import ControllerBook, told
from specwatch_detectors.fallback.controller_memory import Memory
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_detectors.fallback.decision import Act, Decision, Veto
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.intent import Movement
from specwatch_detectors.fallback.leadership import Alone, Leadership
from specwatch_detectors.fallback.mover import Mover
from specwatch_detectors.fallback.observation import Observation, ObservationError, ObservationSource, inputs_of
from specwatch_detectors.fallback.operator_desk import OperatorDesk
from specwatch_detectors.fallback.transition import Cause, same_shares, shares_text, steps_to

ALL_OR_NOTHING: Final = (
    "this lever moves all of the traffic or none, so home is not probed: it is returned to when target or draft "
    "change, or by hand (specwatch fallback return)"
)
CLOCK_S: Final = 60.0
"""Seconds by which a clock may be set back without a word, as time servers do."""


class Controller:
    """Looks after one model.

    Args:
        rules: how it works.
        lever: what moves traffic.
        source: what is seen.
        log: audit log, not open yet.
        clock: epoch seconds.
        leadership: whether it is the one that may act.
    """

    def __init__(
        self,
        rules: Rules,
        lever: Actuator,
        source: ObservationSource,
        log: AuditLog,
        clock: Callable[[], float],
        leadership: Leadership | None = None,
    ) -> None:
        self._rules = rules
        self._lever = lever
        self._source = source
        self._clock = clock
        self._leadership = leadership or Alone()
        share = 0.0 if rules.canary else lever.steps[0]
        self._probe_share = share if share < 1.0 else None
        self._book = ControllerBook(rules, log, ALL_OR_NOTHING if self._probe_share is None else "")
        self._mover = Mover(rules, lever, self._book)
        self._desk = OperatorDesk(rules, lever, self._book)
        self._seen: Observation | None = None
        self._lock = threading.Lock()

    @property
    def view(self) -> ControllerView:
        """What its last finished round found."""
        return self._book.view

    def round(self) -> ControllerView:
        """One round; it waits for nothing but answers, each of which has its deadline."""
        with self._lock:
            now = self._clock()
            leading, who = self._leadership.lead(now)
            if not leading:
                self._book.trouble("leader", f"stands by: {who}")
                self._book.close()
                return self._book.shown(leading=False)
            self._book.trouble("leader", "")
            try:
                self._led_round(now)
            except AuditError as error:  # nothing was done that is not written down
                self._book.trouble("audit", str(error))
                self._book.show(reason=f"nothing is moved that cannot be written down: {error}")
                return self._book.shown(leading=False)
            return self._book.shown(leading=True)

    def close(self) -> None:
        """Give lead and log away."""
        with self._lock:
            self._book.close()
            self._leadership.close()

    def _led_round(self, now: float) -> None:
        position = self._position()
        memory = self._known(now, position)
        if memory is None:
            self._book.show(reason=self._book.troubles.get("lever", ""), position=None)
            return
        self._book.now = now = self._timed(now, memory.policy.last or now)
        if position is not None:
            memory = self._found(memory, position)
        self._observe(memory)
        memory = self._desk.obey(self._resumed(memory, position), position, self._seen)
        settled = memory.transition is not None or position is None or position.settled
        inputs = inputs_of(self._seen, memory.policy, now, self._rules.policy, settled=settled)
        self._book.show(inputs=inputs, position=position)
        if memory.transition is not None and self._book.resumed_at is not None and self._rules.acting:
            self._book.show(reason=f"going on once the lever can be read: {self._book.troubles.get('lever', '')}")
        elif memory.transition is not None:
            self._mover.carry_on(memory, memory.transition, inputs)
        else:
            self._decide(memory, inputs, position)
        self._book.show(at=now)
        self._book.trouble("audit", "")

    def _timed(self, now: float, last: float) -> float:
        """The time of the round: that of the last one while the clock runs behind it, and that is said."""
        behind = last - now
        words = f"the clock is {behind:.0f} s behind the last entry: nothing is begun before it has caught up"
        self._book.trouble("clock", words if behind > CLOCK_S else "")
        return max(now, last)

    def _known(self, now: float, position: Position | None) -> Memory | None:
        """Go on from the log's last entry; without one, begin where the lever is, once that is known."""
        memory = self._book.memory or self._book.open()
        if memory is not None:
            return memory
        if position is None:
            self._book.close()
            return None
        self._book.now = now
        memory = Memory(policy.begin(self._rules.policy, now, position.level), shares=dict(position.shares))
        return self._book.write("start", memory, f"begun at {shares_text(position.shares)}")

    def _resumed(self, memory: Memory, position: Position | None) -> Memory:
        """After a restart, look at a movement that is half done once it is known where the lever is."""
        if position is None or not self._rules.acting:
            return memory
        began, self._book.resumed_at = self._book.resumed_at, None
        if began is not None and memory.transition is not None:
            self._mover.resume(memory.transition, position, began)
        return self._book.known

    def _position(self) -> Position | None:
        try:
            position = self._lever.describe()
        except ActuatorError as error:
            self._book.trouble("lever", f"where the lever is cannot be read: {error}")
            return None
        self._book.trouble("lever", "")
        return position

    def _found(self, memory: Memory, position: Position) -> Memory:
        """What somebody else has set stays as it is; the policy goes on from there."""
        if memory.transition is not None or same_shares(position.shares, memory.shares):
            return memory
        words = f"somebody else has set {shares_text(position.shares)}, it was {shares_text(memory.shares)}"
        state = memory.policy
        if position.level is not state.level or state.probe_began is not None:
            state = intent.found_elsewhere(state, position.level, self._book.now, self._rules.policy)
        kept = replace(memory, policy=state, shares=dict(position.shares), left_revision=state.revision)
        return self._book.write("found", kept, words)

    def _observe(self, memory: Memory) -> None:
        """Look; without an answer the last one grows old, until the policy takes it for stale."""
        try:
            self._seen = self._source.observe(self._book.now, memory.policy.level, memory.policy.since)
        except ObservationError as error:
            self._book.trouble("source", f"nothing is seen: {error}")
        else:
            self._book.trouble("source", "")

    def _decide(self, memory: Memory, inputs: FallbackInputs, position: Position | None) -> None:
        before = policy.advance(memory.policy, inputs, self._rules.policy)
        if not memory.left_revision:  # it was not known when home was left: what is seen first is not new
            memory = replace(memory, left_revision=before.revision)
        after, decision = self._decided(memory, before, inputs)
        shares = memory.shares if position is None else position.shares
        wanted = intent.movement(decision, after, self._rules.policy, shares, self._probe_share)
        veto = "" if decision.veto is None else decision.veto.value
        if wanted is None:
            self._stay(memory.vetoed(veto), after, decision, inputs)
            return
        obstacle, words = self._obstacle(memory, position, wanted)
        if obstacle or position is None:
            self._advise(replace(memory.vetoed(obstacle), policy=before), decision, inputs, wanted, words)
        else:
            self._mover.begin(memory.vetoed(veto), wanted, decision, position, (before, after), inputs)

    def _obstacle(self, memory: Memory, position: Position | None, wanted: Movement) -> tuple[str, str]:
        """What is in the way; who sees nothing begins nothing, but the end of a probe is always safe."""
        blind = self._book.troubles.get("source", "")
        if blind and wanted.cause is not Cause.PROBE_END:
            return Veto.STALE.value, blind
        return self._book.obstacle(memory, position)

    def _decided(
        self, memory: Memory, before: FallbackState, inputs: FallbackInputs
    ) -> tuple[FallbackState, Decision]:
        """The policy's decision, unless the probe's traffic suffers, or home cannot be probed."""
        rules, now = self._rules.policy, self._book.now
        hurt = self._hurt(before)
        if hurt:
            return policy.end_probe(before, now, rules, won=False, reason=f"the probe ends: {hurt}")
        after, decision = policy.decide(before, inputs, rules)
        if self._seen is not None and self._seen.missing and decision.veto in {Veto.STALE, Veto.UNKNOWN}:
            decision = replace(decision, reason=f"{decision.reason}; {self._seen.missing}")
        if decision.act is not Act.PROBE or self._probe_share is not None:
            return after, decision
        if inputs.revision and inputs.revision != memory.left_revision:
            reason = f"{inputs.revision} is new, and is tried with all of the traffic"
            return policy.come_home(replace(before, wins=rules.probe_wins), now, rules, reason)
        wait = min(rules.probe_most_s, 2.0 * before.probe_wait_s)
        later = replace(before, probe_at=now + wait, probe_wait_s=wait)
        return later, Decision(Act.STAY, before.level, ALL_OR_NOTHING)

    def _hurt(self, before: FallbackState) -> str:
        """What got worse for users since the probe began, or nothing."""
        if before.probe_began is None or not self._probe_share or not self._rules.acting:
            return ""
        try:
            health = self._lever.health()
        except ActuatorError as error:
            self._book.trouble("health", f"how the probe's traffic does cannot be read: {error}")
            return ""
        self._book.trouble("health", "")
        return health.reason if health.known and not health.ok else ""

    def _stay(self, memory: Memory, after: FallbackState, decision: Decision, inputs: FallbackInputs) -> None:
        """A round that moves nothing."""
        probing = decision.act is Act.PROBE and memory.policy.probe_began is not None
        advice = f"{decision.act} {decision.level}" if decision.act is Act.RECOMMEND else ""
        quiet = decision.act is Act.STAY or probing or (advice != "" and advice == memory.advised)
        kind = "round" if quiet else "advice" if advice else "decision"
        kept = replace(memory, policy=after, advised=advice)
        if not quiet:
            kept = replace(kept, decided=self._book.now)
        self._book.show(decision=decision, reason=decision.reason)
        self._book.write(kind, kept, decision.reason, **told(inputs, decision))

    def _advise(
        self, memory: Memory, decision: Decision, inputs: FallbackInputs, wanted: Movement, words: str
    ) -> None:
        """A movement that is wanted and not made; its plan is written once."""
        reason, advice = f"{decision.reason}; {words}", f"{wanted.cause} {wanted.level}"
        self._book.show(decision=decision, reason=reason)
        if advice == memory.advised:
            self._book.write("round", memory, reason, **told(inputs, decision))
            return
        kept = replace(memory, advised=advice, decided=self._book.now)
        steps = steps_to(wanted.level, wanted.share, memory.shares, self._lever.steps)
        told_steps = "; then ".join(shares_text(step) for step in steps)
        plan = self._plan(steps)
        self._book.write("advice", kept, reason, **told(inputs, decision), steps=told_steps, plan=plan)

    def _plan(self, steps: Iterable[Shares]) -> str:
        """All that would be sent, as if each step began where the lever is now."""
        try:
            return "\n".join(self._lever.plan(step).text for step in steps)
        except ActuatorError as error:
            return f"it cannot be planned: {error}"
