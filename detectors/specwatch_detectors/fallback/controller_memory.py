"""What the controller remembers between rounds; each entry of the audit log holds it whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from specwatch_detectors.fallback.actuator import Shares
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.transition import Transition, shares_as_json, shares_from_json


@dataclass(frozen=True, slots=True)
class Memory:
    """All that a restarted controller needs to go on where it was.

    Attributes:
        policy: memory of the policy.
        transition: the movement under way, or None.
        shares: position that was set or found last; another one was set by somebody else.
        left_revision: version of target and draft at the last fallback, where the lever cannot probe.
        held_until: nothing is moved before, because the lever refused; 0 for no such wait.
        held_by: why, in one sentence, or empty.
        command: identity of the operator's command that was obeyed last.
        advised: level of the advice that was written down last, or empty.
        veto: that held in the last round, or empty.
        decided: time of the last decision to act, or 0.
        moves: finished movements by `from to cause`.
        refusals: times that a veto began, by veto.
    """

    policy: FallbackState
    transition: Transition | None = None
    shares: Shares = field(default_factory=dict)
    left_revision: str = ""
    held_until: float = 0.0
    held_by: str = ""
    command: str = ""
    advised: str = ""
    veto: str = ""
    decided: float = 0.0
    moves: Mapping[str, int] = field(default_factory=dict)
    refusals: Mapping[str, int] = field(default_factory=dict)

    def moved(self, key: str) -> Memory:
        """One more movement of a kind."""
        return replace(self, moves={**self.moves, key: self.moves.get(key, 0) + 1})

    def vetoed(self, veto: str) -> Memory:
        """The veto that holds now, or empty; its begin is counted."""
        if veto == self.veto:
            return self
        counted = {**self.refusals, veto: self.refusals.get(veto, 0) + 1} if veto else self.refusals
        return replace(self, veto=veto, refusals=counted)

    def as_json(self) -> dict[str, Any]:
        """As JSON; `from_json` reads it."""
        return {
            "policy": self.policy.as_json(),
            "transition": None if self.transition is None else self.transition.as_json(),
            "shares": shares_as_json(self.shares),
            "left_revision": self.left_revision,
            "held_until": self.held_until,
            "held_by": self.held_by,
            "command": self.command,
            "advised": self.advised,
            "veto": self.veto,
            "decided": self.decided,
            "moves": dict(self.moves),
            "refusals": dict(self.refusals),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Memory:
        """Read what `as_json` wrote.

        Raises:
            ValueError: it is no memory of the controller.
        """
        try:
            under_way = body["transition"]
            values = {
                **body,
                "policy": FallbackState.from_json(body["policy"]),
                "transition": None if under_way is None else Transition.from_json(under_way),
                "shares": shares_from_json(body["shares"]),
            }
            return cls(**values)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"no memory of the fallback controller: {error}") from error
