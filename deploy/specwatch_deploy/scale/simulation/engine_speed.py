"""How fast a simulated engine decodes: step times by batch of a measured profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from specwatch_deploy.scale.scale_settings import ScaleError
from specwatch_detectors.payoff.profile_file import ProfileError, load_profile
from specwatch_detectors.payoff.step_cost import Load, Unknown

PROFILE: Final = "llama-70b-fp8-h200"
METHOD: Final = "eagle3"
DEPTH: Final = 3
LENGTH: Final = 2.69
"""Mean acceptance length of the profile's EAGLE-3 run: 1 + .76 + .55 + .38."""


@dataclass(frozen=True, slots=True)
class EngineSpeed:
    """Step times of one engine.

    Attributes:
        steps: seconds of a step by batch size, from 0 (unused) to the number of slots.
        prefill: seconds that one prompt token adds to a step.
        source: what to call it.
    """

    steps: tuple[float, ...]
    prefill: float
    source: str

    @property
    def slots(self) -> int:
        """Requests at once."""
        return len(self.steps) - 1

    @classmethod
    def of_profile(cls, slots: int, profile: str = PROFILE, method: str = METHOD, depth: int = DEPTH) -> Self:
        """Step times up to a number of slots.

        Raises:
            ScaleError: no such profile, or it lacks step times for this method, depth or batch.
        """
        try:
            found = load_profile(profile)
        except ProfileError as error:
            raise ScaleError(str(error)) from error
        cost, steps = found.cost_of(method), [0.0]
        for batch in range(1, slots + 1):
            at = cost.at(Load(float(batch), float(depth)))
            if isinstance(at, Unknown) or at.spec_seconds is None:
                reason = at.reason if isinstance(at, Unknown) else "it has ratios only"
                raise ScaleError(f"profile {found.name}: {reason}")
            steps.append(at.spec_seconds)
        return cls(tuple(steps), found.prefill_seconds_per_token, f"{found.name}, {method}, K = {depth}")
