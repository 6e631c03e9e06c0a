"""What a controller remembers, written down before it is remembered, and what it shows of itself."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from specwatch_detectors.fallback.actuator import Position
from specwatch_detectors.fallback.audit_log import AuditError, AuditLog
from specwatch_detectors.fallback.controller_memory import Memory
from specwatch_detectors.fallback.controller_rules import Rules
from specwatch_detectors.fallback.controller_view import ControllerView
from specwatch_detectors.fallback.decision import Decision
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.inputs_json import decision_as_json, inputs_as_json
from specwatch_detectors.fallback.transition import Transition

LOG = logging.getLogger("specwatch.fallback")


class ControllerBook:
    """Memory, log and view of one controller.

    Args:
        rules: how it works.
        log: audit log, not open yet.
        can_probe: as in the view.

    Attributes:
        memory: what it remembers; None until `open` found something or `write` wrote it.
        now: time of the round, seconds.
        resumed_at: time of the entry that was gone on from, until what it left half done was looked at; else None.
        troubles: by kind, in one sentence each.
        next: what it shows once the round has ended.
        view: what it shows: all of it from one round, so that no decision stands beside what it was not made from.
    """

    def __init__(self, rules: Rules, log: AuditLog, can_probe: str) -> None:
        self._rules = rules
        self._log = log
        self.memory: Memory | None = None
        self.now = 0.0
        self.resumed_at: float | None = None
        self.troubles: dict[str, str] = {}
        self.view = self.next = ControllerView(rules.model, rules.policy, rules.acting, can_probe)

    def open(self) -> Memory | None:
        """Open the log, and remember what its last entry holds; None if it has none.

        Raises:
            AuditError: it cannot be written, or cannot be gone on from.
        """
        last = self._log.open()
        if last is not None:
            try:
                self.memory = Memory.from_json(last["memory"])
                self.resumed_at = float(last["at"])
            except (KeyError, TypeError, ValueError) as error:
                self.close()
                raise AuditError(f"the audit log's last entry cannot be gone on from: {error}") from error
        return self.memory

    def close(self) -> None:
        """Close the log and forget; what it holds is not lost."""
        self._log.close()
        self.memory = None

    @property
    def known(self) -> Memory:
        """The memory, once there is one."""
        if self.memory is None:
            raise AuditError("nothing was written down yet")
        return self.memory

    def write(self, kind: str, memory: Memory, words: str, **more: Any) -> Memory:
        """Write an entry; only then is it remembered.

        Raises:
            AuditError: it cannot be written, and is not remembered.
        """
        body = {"at": self.now, "kind": kind, "acting": self._rules.acting, "words": words, **more}
        self._log.append({**body, "memory": memory.as_json()})
        self.memory = memory
        if kind != "round":
            plan = f"\n{more['plan']}" if more.get("plan") else ""
            LOG.info("%s: %s: %s%s", self._rules.model, kind, words, plan)
        return memory

    def record(self, kind: str, transition: Transition, words: str) -> None:
        """Write how a transition stands from now on.

        Raises:
            AuditError: it cannot be written, and is not remembered.
        """
        more = plan_of(transition) if kind == "intent" else {}
        self.write(kind, replace(self.known, transition=transition), words, **more)

    def show(self, **changes: Any) -> None:
        """Change what will be shown."""
        self.next = replace(self.next, **changes)

    def shown(self, *, leading: bool) -> ControllerView:
        """The round has ended: show what it has found."""
        self.show(leading=leading, memory=self.memory, troubles=dict(self.troubles))
        self.view = self.next
        return self.view

    def trouble(self, kind: str, words: str) -> None:
        """Say a trouble once, and once that it is over; empty words are its end."""
        before = self.troubles.pop(kind, "")
        if words:
            self.troubles[kind] = words
        if words and not before:
            LOG.warning("%s: %s", self._rules.model, words)
        elif before and not words:
            LOG.info("%s: over: %s", self._rules.model, before)

    def obstacle(self, memory: Memory, position: Position | None) -> tuple[str, str]:
        """What is in the way of moving: a label value and words, or nothing."""
        if not self._rules.acting:
            return "dry_run", "dry run: nothing is moved without --act"
        if position is None:
            return "lever", self.troubles.get("lever", "where the lever is is not known")
        if position.foreign and not self._rules.force:
            return "foreign", f"{position.foreign} manages the lever: nothing is moved against it"
        if self.now < memory.held_until:
            return "lever", f"{memory.held_by}; tried again in {memory.held_until - self.now:.0f} s"
        return "", ""


def told(inputs: FallbackInputs, decision: Decision) -> dict[str, Any]:
    """Parts of an entry: what the policy was told and decided."""
    return {"inputs": inputs_as_json(inputs), "decision": decision_as_json(decision)}


def plan_of(transition: Transition) -> dict[str, Any]:
    """Parts of an entry: what is about to be sent."""
    return {"plan": transition.plan.text, "changes": list(transition.plan.changes)}
