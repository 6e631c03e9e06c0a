"""One trace under specwatch, its peers and the plans that know every arrival."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from specwatch_deploy.scale.simulation.clairvoyant import MARGINS, Plan, offered_slots, plan_cost
from specwatch_deploy.scale.simulation.contenders import PEERS, SimulationSettings, ours
from specwatch_deploy.scale.simulation.score import Score, judge
from specwatch_deploy.scale.simulation.traffic import Trace, arrivals
from specwatch_deploy.scale.simulation.view import Contender
from specwatch_deploy.scale.simulation.world import Ran, World, WorldSettings

_SAME_COST = 1.005


@dataclass(frozen=True, slots=True)
class Result:
    """One contender on one trace.

    Attributes:
        name: of the contender.
        score: how it did.
        rounds: time, replicas asked for, replicas ready, requests waiting.
    """

    name: str
    score: Score
    rounds: tuple[tuple[float, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everybody on one trace.

    Attributes:
        trace: what happened.
        ours: specwatch.
        peers: the others, in the order of `PEERS`.
        plans: of who knows every arrival.
    """

    trace: Trace
    ours: Result
    peers: tuple[Result, ...]
    plans: tuple[Result, ...]

    @property
    def clairvoyant_cost(self) -> float | None:
        """Pod seconds of the cheapest plan that attains what specwatch did; None if none does."""
        points = [(plan.score.attained, plan.score.pod_seconds) for plan in self.plans]
        return plan_cost(points, self.ours.score.attained)

    @property
    def best_peer(self) -> Result | None:
        """The peer with the best attainment among those that cost no more than specwatch."""
        most = self.ours.score.pod_seconds * _SAME_COST
        able = [peer for peer in self.peers if peer.score.pod_seconds <= most]
        return max(able, key=lambda peer: peer.score.attained, default=None)


def compare(trace: Trace, settings: SimulationSettings, *, sweep: bool = False, peers: bool = True) -> Comparison:
    """Run a trace.

    Args:
        trace: what happens.
        settings: of the service.
        sweep: try all settings of the peers instead of the first.
        peers: False leaves them out.
    """
    found = [
        run_one(trace, settings, peer.make(settings, value))
        for peer in (PEERS if peers else ())
        for value in (peer.values if sweep else peer.values[:1])
    ]
    ideal = [run_one(trace, settings, plan) for plan in _plans(trace, settings)]
    return Comparison(trace, run_one(trace, settings, ours(settings)), tuple(found), tuple(ideal))


def run_one(trace: Trace, settings: SimulationSettings, contender: Contender) -> Result:
    """Run a trace under one contender."""
    ran = run_world(trace, settings, contender)
    return Result(contender.name, judge(ran, settings.wait_slo_s), tuple(ran.rounds))


def run_world(trace: Trace, settings: SimulationSettings, contender: Contender) -> Ran:
    """Likewise, with everything that happened."""
    requests = arrivals(trace, settings.seed)
    load = offered_slots(trace, requests, settings.speed)[8]
    first = math.ceil(load / (settings.speed.slots * settings.target_use))
    first = min(max(first, settings.bounds.least), settings.bounds.most)
    world = WorldSettings(settings.speed, float(settings.start_s), first)
    return World(world, trace, requests, contender).run()


def _plans(trace: Trace, settings: SimulationSettings) -> Iterable[Plan]:
    load = offered_slots(trace, arrivals(trace, settings.seed), settings.speed)
    for margin in MARGINS:
        for lead in (settings.start_s + 15.0, 0.0):
            yield Plan(load, settings.speed.slots, margin, lead, settings.bounds)
