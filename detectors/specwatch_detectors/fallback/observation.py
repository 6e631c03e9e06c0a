"""What is seen of the levels in one round, and what the policy is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from specwatch_detectors.fallback.fallback_inputs import FallbackInputs
from specwatch_detectors.fallback.fallback_settings import FallbackSettings
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.payoff.payoff import Bounds
from specwatch_detectors.reading import DriftState


class ObservationError(Exception):
    """Nothing can be seen; one line says why."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One level.

    Attributes:
        bounds: its speed-up.
        at: when it was measured; of a stated estimate, when its level was looked at.
        effective: drafts over design effect in the last minutes.
        batch: requests that run on one of its pods, or None.
    """

    bounds: Bounds
    at: float
    effective: float
    batch: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """All levels at one moment; the other fields are those of `FallbackInputs`.

    Attributes:
        at: when it was made, seconds.
        levels: those of which something is known.
        home_rollout: pods that serve the home level alone are being replaced.
        home_scaling: such pods are being added and are not ready.
        missing: why nothing is known of the level in force, in one clause, or empty.
    """

    at: float
    levels: Mapping[Level, Seen] = field(default_factory=dict)
    drift: DriftState = DriftState.CANNOT_TELL
    rollout: bool = False
    scaling: bool = False
    home_rollout: bool = False
    home_scaling: bool = False
    adapts: str = ""
    revision: str = ""
    missing: str = ""


class ObservationSource(Protocol):
    """Looks at the levels."""

    def observe(self, now: float, level: Level, since: float) -> Observation:
        """Look.

        Args:
            now: epoch seconds.
            level: in force.
            since: when it was entered: what was measured before belongs to another one, where levels share pods.

        Raises:
            ObservationError: there is no answer.
        """


def inputs_of(
    seen: Observation | None, state: FallbackState, now: float, settings: FallbackSettings, *, settled: bool
) -> FallbackInputs:
    """What the policy is told.

    Args:
        seen: the last observation, or None before the first.
        state: memory of the policy.
        now: seconds.
        settings: constants.
        settled: the lever is where it was set; else pods are being replaced, whatever else is seen.
    """
    if seen is None:
        return FallbackInputs(now=now, measured_at=None, rollout=not settled)
    here = seen.levels.get(state.level)
    probed = state.probe_began is not None  # a probe's own pods may start, or be replaced by better ones, meanwhile
    measured_at = seen.at if state.level is Level.OFF else None if here is None else here.at
    return FallbackInputs(
        now=now,
        measured_at=None if measured_at is None else min(measured_at, now),
        speedup={level: own.bounds for level, own in seen.levels.items()},
        effective_drafts=0.0 if here is None else here.effective,
        drift=seen.drift,
        rollout=seen.rollout or not settled or (seen.home_rollout and not probed),
        scaling=seen.scaling or (seen.home_scaling and not probed),
        adapts=seen.adapts,
        revision=seen.revision,
        probe=_probe(seen, state, settings),
    )


def _probe(seen: Observation, state: FallbackState, settings: FallbackSettings) -> Bounds | None:
    """What the home level gives since the probe began; nothing while its pods come and go."""
    home = seen.levels.get(settings.home)
    if state.probe_began is None or home is None or seen.home_rollout or seen.home_scaling:
        return None
    enough = home.at > state.probe_began and home.effective >= settings.least_effective
    return home.bounds if enough else None
