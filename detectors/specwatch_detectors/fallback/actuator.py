"""The one small interface between the controller and whatever moves traffic or restarts engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from specwatch_detectors.fallback.level import Level

Shares = Mapping[Level, float]
"""Share of the traffic by level, 0 to 1, together 1; a level that is missing has none."""


class ActuatorError(Exception):
    """The lever could not be read or moved; the message is one line for a person.

    Attributes:
        retry: trying again may help (conflict, throttling, time-out); False for what a person must mend.
        wait_s: seconds that the other side asks to wait before that; 0 where it does not say.
    """

    def __init__(self, message: str, *, retry: bool, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry = retry
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class Position:
    """Where the lever is.

    Attributes:
        shares: of the traffic by level, as the lever is set.
        settled: the system has got there (pods ready, route accepted).
        foreign: who else manages it (a GitOps field manager, a person), or empty.
        note: anything else a person should know, in one sentence, or empty.
    """

    shares: Shares
    settled: bool
    foreign: str = ""
    note: str = ""

    @property
    def level(self) -> Level:
        """The level with most of the traffic."""
        return max(self.shares, key=lambda level: self.shares[level])


@dataclass(frozen=True, slots=True)
class Plan:
    """One movement of the lever.

    Attributes:
        identity: the same for the same movement, so that applying it twice moves nothing twice.
        shares: wanted.
        before: to go back to.
        changes: exactly what will be sent, one object per call, as JSON values.
        text: the same for a person, as it is printed by a dry run.
    """

    identity: str
    shares: Shares
    before: Shares
    changes: tuple[Mapping[str, Any], ...]
    text: str


@dataclass(frozen=True, slots=True)
class Health:
    """How the level that receives traffic is doing, against before the movement.

    Attributes:
        ok: nothing got worse by more than the actuator allows.
        reason: what got worse, or that nothing did, in one sentence with numbers.
        known: False if too little traffic was seen to tell; then `ok` says nothing.
    """

    ok: bool
    reason: str
    known: bool = True


class Actuator(Protocol):
    """One lever. Nothing moves but in `apply` and `undo`; both may be repeated without harm.

    Every method raises ActuatorError.
    """

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels that it can serve, in order."""

    @property
    def steps(self) -> tuple[float, ...]:
        """Shares of a new level on the way to all: (0.05, 0.25, 1.0), or (1.0,) where it is all or nothing."""

    def describe(self) -> Position:
        """Where the lever is now."""

    def plan(self, shares: Shares) -> Plan:
        """What a movement to these shares would send; nothing is sent."""

    def apply(self, plan: Plan) -> None:
        """Move; returns once the movement is accepted, not once it is settled."""

    def verify(self, plan: Plan) -> Position:
        """Where the lever is, after a movement: settled once its shares are the plan's and in force."""

    def health(self) -> Health:
        """Error rate and latency of what receives traffic now."""

    def undo(self, plan: Plan) -> None:
        """Move back to `plan.before`."""
