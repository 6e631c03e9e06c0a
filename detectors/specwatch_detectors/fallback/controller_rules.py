"""How a controller works."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.transition_settings import TransitionSettings


@dataclass(frozen=True, slots=True)
class Rules:
    """How the controller works.

    Attributes:
        model: that it looks after.
        policy: constants of the policy.
        steps: constants of moving traffic.
        acting: it moves traffic; else it only writes what it would do.
        canary: the home level is always measured by pods of its own, so that a probe moves nothing.
        force: the lever is moved although somebody else manages it, if the lever allows that.
        control: file through which a person commands it, or None.
    """

    model: str
    policy: FallbackSettings
    steps: TransitionSettings
    acting: bool = False
    canary: bool = False
    force: bool = False
    control: Path | None = None
