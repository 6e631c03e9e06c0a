"""What every sequential detector offers: the same three methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

Observation_contra = TypeVar("Observation_contra", contravariant=True)

State = Mapping[str, float]
"""What a detector needs to go on after a restart; plain numbers, so that JSON holds it."""


class Detector(Protocol[Observation_contra]):
    """A sequential test of "as before" against one alternative.

    A detector gets its parameters and, to go on after a restart, the `state` of its predecessor when it is made.
    """

    def update(self, observation: Observation_contra) -> float:
        """Take one interval in; returns the score over the threshold: 1 or more is an alarm."""

    def reset(self) -> None:
        """Forget the evidence, keep the parameters."""

    def state(self) -> dict[str, float]:
        """The evidence so far."""
