"""Who knows every arrival: plans of replicas made from the requests themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specwatch_deploy.scale.hpa import Bounds
from specwatch_deploy.scale.simulation.engine_speed import LENGTH, EngineSpeed
from specwatch_deploy.scale.simulation.simulated_request import SimulatedRequest
from specwatch_deploy.scale.simulation.traffic import Trace
from specwatch_deploy.scale.simulation.view import View

STEP_S: Final = 15.0
_SPAN_S: Final = 120.0
_HOLD_S: Final = 60.0
MARGINS: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Spare slots in square roots of the load (square-root staffing: Halfin and Whitt 1981)."""


def offered_slots(trace: Trace, requests: Sequence[SimulatedRequest], speed: EngineSpeed) -> list[float]:
    """Slots that the requests around each moment take in a full pod: every `STEP_S`, mean over two minutes."""
    bins = [0.0] * (int(trace.seconds / STEP_S) + 1)
    step = speed.steps[-1]
    for request in requests:
        length = LENGTH * trace.length_at(request.arrived)
        stalls = speed.slots * request.prompt * speed.prefill
        bins[int(request.arrived / STEP_S)] += request.output * step / length + stalls
    reach = int(_SPAN_S / STEP_S / 2.0)
    found = []
    for index in range(len(bins)):
        part = bins[max(0, index - reach) : index + reach + 1]
        found.append(sum(part) / len(part) / STEP_S)
    return found


@dataclass(frozen=True, slots=True)
class Plan:
    """Replicas by time.

    Attributes:
        load: from `offered_slots`.
        slots: of a pod.
        margin: one of `MARGINS`.
        lead_s: how long before they are needed pods are asked for.
        bounds: of the replicas.
    """

    load: Sequence[float]
    slots: int
    margin: float
    lead_s: float
    bounds: Bounds

    @property
    def name(self) -> str:
        """For tables."""
        return f"plan {self.margin:g}, {self.lead_s:g} s ahead"

    def replicas(self, view: View) -> int:
        """The most that is needed from a minute ago until a pod asked for now would be ready."""
        first = max(0, int((view.at - _HOLD_S) / STEP_S))
        part = self.load[first : int((view.at + self.lead_s) / STEP_S) + 1] or self.load[-1:]
        load = max(part)
        wanted = math.ceil((load + self.margin * math.sqrt(load)) / self.slots)
        return min(max(wanted, self.bounds.least), self.bounds.most)


def plan_cost(points: Sequence[tuple[float, float]], attained: float) -> float | None:
    """Pod seconds of the cheapest plan that attains as much; two plans may share the time between them.

    Args:
        points: attainment and pod seconds by plan.
        attained: share that must be reached.

    Returns:
        None if no plan reaches it.
    """
    costs = [cost for share, cost in points if share >= attained]
    for low, low_cost in points:
        for high, high_cost in points:
            if low < attained <= high:
                costs.append(low_cost + (high_cost - low_cost) * (attained - low) / (high - low))
    return min(costs, default=None)
