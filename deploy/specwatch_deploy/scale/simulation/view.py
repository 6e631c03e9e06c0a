"""What decides replicas in the simulation, and what it may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from specwatch_deploy.scale.hpa_metric import Replicas
from specwatch_deploy.scale.simulation.samples import Samples


@dataclass(frozen=True, slots=True)
class View:
    """What is known at a round of the HPA.

    Attributes:
        at: seconds.
        samples: of Prometheus.
        replicas: as the HPA sees them.
    """

    at: float
    samples: Samples
    replicas: Replicas


class Contender(Protocol):
    """A way to scale."""

    @property
    def name(self) -> str:
        """For tables."""

    def replicas(self, view: View) -> int:
        """Replicas to ask for now."""
