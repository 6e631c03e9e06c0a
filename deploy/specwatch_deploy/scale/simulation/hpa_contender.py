"""A signal behind KEDA and the HPA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specwatch_deploy.scale.hpa import Hpa
from specwatch_deploy.scale.keda_trigger import KedaTrigger
from specwatch_deploy.scale.simulation.view import View

Signal = Callable[[View], Sequence[float]]


@dataclass(slots=True)
class HpaContender:
    """Scales by one query.

    Attributes:
        name: for tables.
        signal: what the query answers: elements of the instant vector.
        trigger: how KEDA takes it.
        hpa: with its memory.
    """

    name: str
    signal: Signal
    trigger: KedaTrigger
    hpa: Hpa

    def replicas(self, view: View) -> int:
        """One round."""
        proposal = self.trigger.proposal(self.signal(view), view.replicas, self.hpa.tolerance)
        return self.hpa.sync(view.at, view.replicas.spec, [proposal])
