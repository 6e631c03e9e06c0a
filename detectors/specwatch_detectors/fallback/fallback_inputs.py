"""What the policy is told each round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specwatch_detectors.fallback.level import Level
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.reading import DriftState


@dataclass(frozen=True, slots=True)
class FallbackInputs:
    """One model at one moment; what is unknown is None or missing, and then nothing is done.

    Attributes:
        now: seconds of a clock that does not run backwards.
        measured_at: when the payoffs were measured, same clock; None if they never were.
        speedup: by level, tokens per second over those without speculation, with bounds. `off` is 1 and need not be
            given. The level in use is measured; another one is measured in its pool, or a stated estimate.
        effective_drafts: drafts over design effect behind the payoff of the level in use.
        drift: verdict on the draft.
        rollout: pods of the model are being replaced.
        scaling: pods are being added and are not ready.
        adapts: what the engine changes by itself (`K by batch`, `acceptance gate`), or empty.
        revision: version of target and draft, as far as known; a new one is a reason to probe soon.
        probe: payoff of the home level as the probe under way measures it, or None.
    """

    now: float
    measured_at: float | None
    speedup: Mapping[Level, Bounds] = field(default_factory=dict)
    effective_drafts: float = 0.0
    drift: DriftState = DriftState.CANNOT_TELL
    rollout: bool = False
    scaling: bool = False
    adapts: str = ""
    revision: str = ""
    probe: Bounds | None = None

    def of(self, level: Level) -> Bounds | None:
        """Speed-up of a level; without speculation it is 1 by definition."""
        return Bounds(1.0, 1.0, 1.0) if level is Level.OFF else self.speedup.get(level)
