"""The simulated world: requests, a router, pods that come and go, scrapes, and the rounds of the autoscaler."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heappop, heappush
from typing import Final

from specwatch_deploy.scale.hpa_metric import Replicas
from specwatch_deploy.scale.simulation.engine_counters import EngineCounters
from specwatch_deploy.scale.simulation.engine_speed import LENGTH, EngineSpeed
from specwatch_deploy.scale.simulation.samples import Sample, Samples
from specwatch_deploy.scale.simulation.simulated_pod import SimulatedPod
from specwatch_deploy.scale.simulation.simulated_request import SimulatedRequest
from specwatch_deploy.scale.simulation.traffic import Trace
from specwatch_deploy.scale.simulation.view import Contender, View

SYNC_S: Final = 15.0
SYNC_PHASE_S: Final = 12.0
"""A round comes so long after a scrape: the rule has been evaluated, the HPA's loop is not in step with it."""

FIRST_SYNC_S: Final = 240.0
"""When the autoscaler begins: the pods, empty at first, have filled by then."""

KV_TOKENS: Final = 178_768
"""KV cache of one pod in tokens, from the page of the profile's run."""
_CONTEXT: Final = 1024
"""Mean context of a request in tokens: its prompt and half of its answer."""


class _Kind(IntEnum):
    FINISH = 0
    READY = 1
    DRIFT = 2
    CRASH = 3
    SCRAPE = 4
    SYNC = 5


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """What a world is made of.

    Attributes:
        speed: of the engines.
        start_s: from asking for a pod to its first request, seconds.
        first: replicas at the start, ready.
        scrape_s: scrape interval, seconds.
    """

    speed: EngineSpeed
    start_s: float
    first: int
    scrape_s: float = 15.0


@dataclass(slots=True)
class Ran:
    """What happened.

    Attributes:
        requests: all, in order of arrival.
        pods: all that ever were.
        rounds: time, replicas asked for, replicas ready, requests waiting.
        seconds: how long it lasted.
    """

    requests: list[SimulatedRequest]
    pods: list[SimulatedPod]
    rounds: list[tuple[float, int, int, int]]
    seconds: float


@dataclass(slots=True)
class World:
    """One run of a trace under one contender; use it once.

    Attributes:
        settings: of the world.
        trace: what happens.
        requests: arrivals, in order; they are changed.
        contender: that scales.
    """

    settings: WorldSettings
    trace: Trace
    requests: list[SimulatedRequest]
    contender: Contender
    _events: list[tuple[float, int, _Kind, SimulatedPod | None, int]] = field(default_factory=list)
    _number: int = 0
    _counters: EngineCounters = field(default_factory=EngineCounters)
    _samples: Samples = field(default_factory=Samples)
    _pods: list[SimulatedPod] = field(default_factory=list)
    _all: list[SimulatedPod] = field(default_factory=list)
    _parked: deque[SimulatedRequest] = field(default_factory=deque)
    _rounds: list[tuple[float, int, int, int]] = field(default_factory=list)

    def run(self) -> Ran:
        """Run it to the end."""
        for _ in range(self.settings.first):
            self._add_pod(0.0, 0.0)
        self._push(0.0, _Kind.SCRAPE)
        self._push(FIRST_SYNC_S + SYNC_PHASE_S, _Kind.SYNC)
        for start, _ in self.trace.lengths:
            self._push(start, _Kind.DRIFT)
        for start in self.trace.crashes:
            self._push(start, _Kind.CRASH)
        coming = iter(self.requests)
        request = next(coming, None)
        while self._events[0][0] < self.trace.seconds:
            if request is not None and request.arrived < self._events[0][0]:
                self._route(request.arrived, request)
                request = next(coming, None)
            else:
                at, _, kind, pod, version = heappop(self._events)
                self._handle(at, kind, pod, version)
        return Ran(self.requests, self._all, self._rounds, self.trace.seconds)

    def _handle(self, at: float, kind: _Kind, pod: SimulatedPod | None, version: int) -> None:
        if kind is _Kind.FINISH:
            if pod is not None and version == pod.version:
                pod.finish(at)
                self._settle(at, pod)
        elif kind is _Kind.READY:
            while self._parked:
                self._route(at, self._parked.popleft())
        elif kind is _Kind.DRIFT:
            for one in self._living():
                one.set_length(at, LENGTH * self.trace.length_at(at))
                self._settle(at, one)
        elif kind is _Kind.CRASH:
            self._crash(at)
        elif kind is _Kind.SCRAPE:
            self._scrape(at)
            self._push(at + self.settings.scrape_s, _Kind.SCRAPE)
        else:
            self._sync(at)
            self._push(at + SYNC_S, _Kind.SYNC)

    def _route(self, at: float, request: SimulatedRequest) -> None:
        """To the pod with the fewest requests."""
        best, least = None, math.inf
        for pod in self._pods:
            if pod.ready <= at and pod.in_flight < least:
                best, least = pod, pod.in_flight
        if best is None:
            self._parked.append(request)
            return
        best.submit(at, request)
        self._expect(at, best)

    def _expect(self, at: float, pod: SimulatedPod) -> None:
        end = pod.next_end(at)
        if end < math.inf:
            self._push(end, _Kind.FINISH, pod)

    def _settle(self, at: float, pod: SimulatedPod) -> None:
        self._expect(at, pod)
        if pod.draining and not pod.in_flight:
            pod.gone = at

    def _add_pod(self, at: float, ready: float) -> None:
        length = LENGTH * self.trace.length_at(at)
        pod = SimulatedPod(len(self._all), (at, ready), self.settings.speed, length, self._counters)
        self._pods.append(pod)
        self._all.append(pod)
        self._push(ready, _Kind.READY)

    def _remove_pod(self, at: float) -> None:
        """Not ready ones first, then the youngest; requests in it are served to their end."""
        pod = max(self._pods, key=lambda found: (found.ready > at, found.ready, found.number))
        self._pods.remove(pod)
        pod.draining = True
        self._settle(at, pod)

    def _crash(self, at: float) -> None:
        pod = self._pods[0]
        if pod.ready > at:
            return
        ready = at + self.settings.start_s
        for request in pod.crash(at, ready):
            request.lost = True
        self._push(ready, _Kind.READY)

    def _living(self) -> Iterator[SimulatedPod]:
        return (pod for pod in self._all if pod.gone == math.inf)

    def _scrape(self, at: float) -> None:
        outage = self.trace.outage
        if outage is not None and outage.holds(at):
            self._samples.forget()
            return
        seen = [pod for pod in self._living() if pod.ready <= at]
        for pod in seen:
            pod.advance(at)
        oldest = max((at - pod.waiting[0].arrived for pod in seen if pod.waiting), default=0.0)
        running = {pod.number: pod.running for pod in seen}
        self._samples.add(
            Sample(
                at,
                running,
                {pod.number: len(pod.waiting) for pod in seen},
                sum(running.values()) * _CONTEXT / KV_TOKENS,
                oldest,
                self._counters.copy(),
            )
        )

    def _sync(self, at: float) -> None:
        spec, ready = len(self._pods), sum(pod.ready <= at for pod in self._pods)
        wanted = self.contender.replicas(View(at, self._samples, Replicas(spec, spec, ready)))
        for _ in range(wanted - spec):
            self._add_pod(at, at + self.settings.start_s)
        for _ in range(spec - wanted):
            self._remove_pod(at)
        waiting = sum(len(pod.waiting) for pod in self._all) + len(self._parked)
        self._rounds.append((at, wanted, ready, waiting))

    def _push(self, at: float, kind: _Kind, pod: SimulatedPod | None = None) -> None:
        self._number += 1
        heappush(self._events, (at, self._number, kind, pod, pod.version if pod is not None else 0))
