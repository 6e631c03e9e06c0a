"""What the policy wants, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specwatch_detectors.fallback.level import Level


class Act(StrEnum):
    """Kinds of decisions."""

    STAY = "stay"
    SWITCH = "switch"
    PROBE = "probe"
    END_PROBE = "end_probe"
    RECOMMEND = "recommend"
    LATCH = "latch"


class Veto(StrEnum):
    """Why nothing is done although something might be."""

    LATCHED = "latched"
    STALE = "stale"
    UNKNOWN = "unknown"
    LOW_VOLUME = "low_volume"
    ROLLOUT = "rollout"
    SCALING = "scaling"
    DWELL = "dwell"
    FLIPS = "flips"
    ADAPTS = "adapts"
    REGRET = "regret"


@dataclass(frozen=True, slots=True)
class Decision:
    """One round's decision.

    Attributes:
        act: what to do.
        level: wanted level; of a recommendation the one that would be better.
        reason: in one sentence with numbers.
        veto: what forbade more, or None.
    """

    act: Act
    level: Level
    reason: str
    veto: Veto | None = None
