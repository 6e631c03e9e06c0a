"""Who is compared: specwatch's demand, and peers with the settings that are tried for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from specwatch_deploy.scale.gpu_behavior import gpu_behavior
from specwatch_deploy.scale.hpa import Bounds, Hpa
from specwatch_deploy.scale.hpa_metric import ExternalTarget, TargetType
from specwatch_deploy.scale.keda_trigger import Fallback, FallbackBehavior, KedaTrigger
from specwatch_deploy.scale.scale_settings import DemandSettings
from specwatch_deploy.scale.scaled_object import FAILURES
from specwatch_deploy.scale.simulation.demand_signal import DemandSignal
from specwatch_deploy.scale.simulation.engine_speed import EngineSpeed
from specwatch_deploy.scale.simulation.hpa_contender import HpaContender
from specwatch_deploy.scale.simulation.peers import (
    MeanWaitAndQueue,
    Utilisation,
    in_flight_count,
    llm_d_law,
    queue_time_p95,
    waiting_count,
)
from specwatch_deploy.scale.simulation.view import Contender

OURS: Final = "specwatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """One simulated service.

    Attributes:
        speed: of an engine; its slots are those of a pod.
        start_s: from asking for a pod to its first request, seconds.
        bounds: of the replicas.
        wait_slo_s: objective for the queue wait.
        target_use: of specwatch's demand.
        seed: of the arrivals.
        window_s: for scaling in; by the start-up time if None.
    """

    speed: EngineSpeed
    start_s: int = 60
    bounds: Bounds = field(default_factory=lambda: Bounds(2, 16))
    wait_slo_s: float = 1.0
    target_use: float = 0.9
    seed: int = 1
    window_s: int | None = None

    def hpa(self) -> Hpa:
        """A fresh HPA with the behaviour for GPU pods, which all contenders have."""
        return Hpa(self.bounds, gpu_behavior(self.start_s, self.window_s))

    def demand(self) -> DemandSettings:
        """What the demand is computed with."""
        return DemandSettings(
            namespace="simulated",
            model="simulated",
            slots=self.speed.slots,
            target_use=self.target_use,
            wait_slo_s=self.wait_slo_s,
            start_up_s=self.start_s,
        )


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to scale.

    Attributes:
        name: for tables.
        values: settings that are tried; the first is what its examples have.
        make: a fresh one.
    """

    name: str
    values: tuple[float, ...]
    make: Callable[[SimulationSettings, float], Contender]


def ours(settings: SimulationSettings) -> Contender:
    """Specwatch's demand behind KEDA, as `specwatch scale build` sets it up."""
    trigger = KedaTrigger(
        ExternalTarget(TargetType.AVERAGE_VALUE, 1.0),
        ignore_null=False,
        fallback=Fallback(FAILURES, settings.bounds.least, FallbackBehavior.CURRENT_IF_HIGHER),
    )
    return HpaContender(OURS, DemandSignal(settings.demand()), trigger, settings.hpa())


def _p95(settings: SimulationSettings, value: float) -> Contender:
    trigger = KedaTrigger(ExternalTarget(TargetType.VALUE, value))
    return HpaContender(f"p95 queue time {value:g} s", queue_time_p95, trigger, settings.hpa())


def _waiting(settings: SimulationSettings, value: float) -> Contender:
    trigger = KedaTrigger(ExternalTarget(TargetType.AVERAGE_VALUE, value))
    return HpaContender(f"waiting {value:g} a pod", waiting_count, trigger, settings.hpa())


def _concurrency(settings: SimulationSettings, value: float) -> Contender:
    target = ExternalTarget(TargetType.AVERAGE_VALUE, value * settings.speed.slots)
    return HpaContender(f"in flight {value:.0%}", in_flight_count, KedaTrigger(target), settings.hpa())


def _llm_d(settings: SimulationSettings, value: float) -> Contender:
    trigger = KedaTrigger(ExternalTarget(TargetType.AVERAGE_VALUE, 1.0))
    return HpaContender(f"llm-d SLO law {value:g} s", llm_d_law(value), trigger, settings.hpa())


def _kaito(settings: SimulationSettings, value: float) -> Contender:
    return MeanWaitAndQueue(f"keda-kaito {value:g} s", value, 0.5, settings.hpa())


def _use(settings: SimulationSettings, value: float) -> Contender:
    return Utilisation(f"utilisation {value:g}%", value, settings.hpa())


PEERS: Final[tuple[Peer, ...]] = (
    Peer("p95 of queue time", (2.0, 0.5), _p95),
    Peer("waiting count", (5.0, 1.0), _waiting),
    Peer("llm-d's SLO law", (1.0, 2.0), _llm_d),
    Peer("keda-kaito", (1.0, 0.2), _kaito),
    Peer("utilisation", (80.0, 95.0), _use),
    Peer("in flight", (0.9, 0.8, 0.95), _concurrency),
)
