"""Obeys a person's commands, each once, and writes the answer down."""

from __future__ import annotations

from dataclasses import replace

from specwatch_detectors.fallback import intent, policy
from specwatch_detectors.fallback.actuator import Actuator, ActuatorError, Position
from specwatch_detectors.fallback.controller_book import ControllerBook, plan_of
from specwatch_detectors.fallback.controller_memory import Memory
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.decision import Act, Decision
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.inputs_json import decision_as_json
from specwatch_detectors.fallback.intent import Movement
from specwatch_detectors.fallback.observation import Observation, inputs_of
from specwatch_detectors.fallback.operator_command import EXPIRES_S, Command, Order, given
from specwatch_detectors.fallback.transition import Cause, same_shares


class OperatorDesk:
    """Takes commands of one controller.

    Args:
        rules: how it works.
        lever: what moves traffic.
        book: where everything is written down.
    """

    def __init__(self, rules: Rules, lever: Actuator, book: ControllerBook) -> None:
        self._rules = rules
        self._lever = lever
        self._book = book

    def obey(self, memory: Memory, position: Position | None, seen: Observation | None) -> Memory:
        """Obey a command that was not obeyed yet; what is remembered then."""
        command = self._command()
        if command is None or command.identity == memory.command:
            return memory
        kept = replace(memory, command=command.identity)
        if self._book.now - command.at > EXPIRES_S:
            return self._answer(kept, command, f"not obeyed: it is {self._book.now - command.at:.0f} s old")
        if command.order is Order.UNLATCH:
            return self._answer(_unlatched(kept), command, "switching is allowed again")
        if command.order is Order.LEAVE:
            return self._leave(kept, command, position, seen)
        return self._return(kept, command, position)

    def _return(self, memory: Memory, command: Command, position: Position | None) -> Memory:
        home, now = self._rules.policy.home, self._book.now
        if position is not None and same_shares(position.shares, {home: 1.0}):
            there = self._obstacle(memory, position) or f"all traffic is on {home.words}"
            return self._answer(memory, command, f"not obeyed: {there}")
        then = intent.found_elsewhere(memory.policy, home, now, self._rules.policy)
        return self._move(memory, command, position, replace(then, flips=(*memory.policy.flips, now)))

    def _leave(
        self, memory: Memory, command: Command, position: Position | None, seen: Observation | None
    ) -> Memory:
        """One level down, whatever it gives; but not blind, not in motion, and not more often than a day allows."""
        state, settings, now = memory.policy, self._rules.policy, self._book.now
        settled = position is not None and position.settled
        then = policy.sent_down(state, now, settings)
        if then is None:
            return self._answer(memory, command, f"not obeyed: there is no level behind {state.level.words}")
        inputs = inputs_of(seen, state, now, settings, settled=settled)
        obstacle = self._obstacle(memory, position) or policy.danger(state, inputs, settings)
        if obstacle:
            return self._answer(memory, command, f"not obeyed: {obstacle}")
        return self._move(memory, command, position, then)

    def _obstacle(self, memory: Memory, position: Position | None) -> str:
        if memory.transition is not None:
            return "a movement is under way"
        return self._book.obstacle(replace(memory, held_until=0.0), position)[1]

    def _move(self, memory: Memory, command: Command, position: Position | None, then: FallbackState) -> Memory:
        """Begin to bring all of the traffic to the level of a memory, if nothing is in the way."""
        obstacle = self._obstacle(memory, position)
        if obstacle or position is None:
            return self._answer(memory, command, f"not obeyed: {obstacle}")
        decision = Decision(Act.SWITCH, then.level, f"{command.by} asked for it")
        wanted = Movement(Cause.OPERATOR, then.level, 1.0)
        try:
            transition = intent.begun(wanted, decision, self._lever, position, self._book.now, then, memory.policy)
        except ActuatorError as error:
            return self._answer(memory, command, f"not obeyed: the lever refuses: {error}")
        kept = replace(memory, transition=transition, advised="", decided=self._book.now)
        more = {**plan_of(transition), "command": command.order.value, "decision": decision_as_json(decision)}
        return self._book.write("intent", kept, decision.reason, **more)

    def _command(self) -> Command | None:
        if self._rules.control is None:
            return None
        try:
            command = given(self._rules.control)
        except ValueError as error:
            self._book.trouble("command", str(error))
            return None
        self._book.trouble("command", "")
        return command

    def _answer(self, memory: Memory, command: Command, words: str) -> Memory:
        return self._book.write("operator", memory, words, command=command.order.value, by=command.by)


def _unlatched(memory: Memory) -> Memory:
    """Unlatch wherever a state of the policy is kept, and ask a lever again that refused."""
    transition = memory.transition
    if transition is not None:
        then, else_ = policy.unlatch(transition.then), policy.unlatch(transition.else_)
        transition = replace(transition, then=then, else_=else_)
    return replace(memory, policy=policy.unlatch(memory.policy), transition=transition, held_until=0.0)
