"""What can be seen of the controller after a round: metrics and the status page are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specwatch_detectors.fallback.actuator import Position
from specwatch_detectors.fallback.controller_memory import Memory
from specwatch_detectors.fallback.decision import Decision
from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_settings import FallbackSettings


@dataclass(frozen=True, slots=True)
class ControllerView:
    """The controller at the end of a round.

    Attributes:
        model: that it looks after.
        settings: of the policy.
        acting: it moves traffic; else it only says what it would do.
        can_probe: why home can or cannot be probed, in one sentence; empty if by a share of the traffic.
        at: time of the last finished round, or 0 before the first.
        leading: it is the one of its kind that may act.
        memory: what it remembers, or None before it knows.
        position: of the lever, or None if it cannot be read.
        inputs: of the policy in the last round, or None.
        decision: of the policy in the last round, or None.
        reason: the decision's, and what was in its way.
        troubles: by kind, in one sentence each.
    """

    model: str
    settings: FallbackSettings
    acting: bool
    can_probe: str = ""
    at: float = 0.0
    leading: bool = False
    memory: Memory | None = None
    position: Position | None = None
    inputs: FallbackInputs | None = None
    decision: Decision | None = None
    reason: str = "no round has finished yet"
    troubles: Mapping[str, str] = field(default_factory=dict)
