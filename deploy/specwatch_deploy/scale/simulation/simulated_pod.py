"""A vLLM pod with continuous batching: all requests of its batch advance with every step."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count

from specwatch_deploy.scale.simulation.engine_counters import EngineCounters
from specwatch_deploy.scale.simulation.engine_speed import EngineSpeed
from specwatch_deploy.scale.simulation.simulated_request import SimulatedRequest


class SimulatedPod:
    """One pod.

    Its clock is the number of tokens that a request in the batch has got since the pod began: it runs at
    acceptance length / step time(batch) tokens per second and stands still while a prompt is computed. A request
    ends when the clock has gone on by its output tokens.

    Args:
        number: of the pod.
        life: when it was asked for, and from when it takes requests, seconds.
        speed: of its engine.
        length: mean acceptance length, tokens per step and request.
        counters: of all pods.
    """

    def __init__(
        self, number: int, life: tuple[float, float], speed: EngineSpeed, length: float, counters: EngineCounters
    ) -> None:
        self.number = number
        self.created, self.ready = life
        self.gone = math.inf
        self.draining = False
        self.length = length
        self.counters = counters
        self.waiting: deque[SimulatedRequest] = deque()
        self.version = 0
        self._speed = speed
        self._batch: list[tuple[float, int, SimulatedRequest]] = []
        self._order = count()
        self._clock = 0.0
        self._at = self.created
        self._resumes = self.created

    @property
    def running(self) -> int:
        """Requests in the batch."""
        return len(self._batch)

    @property
    def in_flight(self) -> int:
        """Requests in the batch and in the queue."""
        return len(self._batch) + len(self.waiting)

    def submit(self, at: float, request: SimulatedRequest) -> None:
        """Take a request."""
        self.waiting.append(request)
        self.admit(at)

    def set_length(self, at: float, length: float) -> None:
        """Change the acceptance."""
        self.advance(at)
        self.length = length
        self.version += 1

    def next_end(self, at: float) -> float:
        """When the next request of the batch ends, if nothing changes; infinite for an empty batch."""
        if not self._batch:
            return math.inf
        left = max(0.0, self._batch[0][0] - self._clock)
        return max(at, self._resumes) + left / self._rate()

    def finish(self, at: float) -> None:
        """Take out what has ended, and fill the batch again."""
        self.advance(at)
        while self._batch and self._batch[0][0] <= self._clock + 1e-6:
            request = heappop(self._batch)[2]
            request.ended = at
            took = at - request.started
            self.counters.end(request.wait, took, took / request.output)
        self.version += 1
        self.admit(at)

    def crash(self, at: float, ready: float) -> list[SimulatedRequest]:
        """Lose everything in flight; it comes back at `ready`."""
        self.advance(at)
        lost = [*(item[2] for item in self._batch), *self.waiting]
        self._batch.clear()
        self.waiting.clear()
        self.ready, self._resumes = ready, ready
        self.version += 1
        return lost

    def admit(self, at: float) -> None:
        """Fill the batch from the queue, first in first out."""
        if not self.waiting or len(self._batch) >= self._speed.slots:
            return
        self.advance(at)
        for request in self._admissible():
            request.started = at
            self._resumes = max(self._resumes, at) + request.prompt * self._speed.prefill
            heappush(self._batch, (self._clock + request.output, next(self._order), request))
            step = self._speed.steps[len(self._batch)]
            self.counters.first_token(self._resumes + step - request.arrived)
        self.version += 1

    def advance(self, at: float) -> None:
        """Bring the clock up to now."""
        begin = max(self._at, self._resumes)
        if self._batch:
            self.counters.busy_s += at - self._at
            if at > begin:
                gone = (at - begin) * self._rate()
                self._clock += gone
                self.counters.tokens += gone * len(self._batch)
                self.counters.steps += gone * len(self._batch) / self.length
        self._at = max(self._at, at)

    def _admissible(self) -> Iterator[SimulatedRequest]:
        while self.waiting and len(self._batch) < self._speed.slots:
            yield self.waiting.popleft()

    def _rate(self) -> float:
        return self.length / self._speed.steps[len(self._batch)]
