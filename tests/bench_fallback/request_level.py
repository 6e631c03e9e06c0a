"""The same pods request by request, for a while: how far the fleet by ticks can be trusted."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench_fallback.kind import LENGTH_SPREAD, OUTPUT_TOKENS, PROMPT_TOKENS
from bench_fallback.plan import MOST_BATCH, PATIENCE_S, TOKEN_TARGET_S, TTFT_TARGET_S
from bench_fallback.steps import Floats, step_at

Row = tuple[float, float, float]
WARM_UP_S: Final = 60.0


@dataclass(frozen=True)
class Traffic:
    """Requests of a steady load.

    Attributes:
        rate: requests per second, all pods.
        mix: share of each kind.
        lengths: tokens per step of the mean request of each kind.
        spreads: their standard deviation among requests.
        seconds: how long.
    """

    rate: float
    mix: Floats
    lengths: Floats
    spreads: Floats
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        good: share of requests within both targets.
        batch: mean running batch of a pod.
    """

    good: float
    batch: float


@dataclass(slots=True)
class _Request:
    came: float
    steps: float
    tokens: float
    began: float = 0.0


class _Pod:
    """A batch whose requests all step together; a clock that counts steps says when each is done."""

    __slots__ = ("done", "ends", "last", "steps", "waiting")

    def __init__(self) -> None:
        self.ends: list[tuple[float, int, _Request]] = []
        self.waiting: list[_Request] = []
        self.steps, self.last = 0.0, 0.0

    def advance(self, now: float, row: Row) -> None:
        """Let time pass; prefill may have pushed the clock ahead of now."""
        if now > self.last:
            if self.ends:
                self.steps += (now - self.last) / step_at(float(len(self.ends)), row)
            self.last = now

    def next_end(self, row: Row) -> float:
        """When the next request is done."""
        if not self.ends:
            return float("inf")
        return self.last + (self.ends[0][0] - self.steps) * step_at(float(len(self.ends)), row)


def simulate(traffic: Traffic, pods: int, row: Row, prefill: float, rng: np.random.Generator) -> Outcome:
    """Event by event: each request goes to the emptiest pod, prefill holds the pod's batch up."""
    requests = _draw(traffic, rng)
    fleet = [_Pod() for _ in range(pods)]
    good = total = 0
    area, number = 0.0, 0
    now = 0.0
    ends = [float("inf")] * pods
    while True:
        first = min(range(pods), key=ends.__getitem__)
        arrival = requests[number].came if number < len(requests) else float("inf")
        event = min(arrival, ends[first])
        if event == float("inf"):
            break
        area += sum(len(pod.ends) for pod in fleet) * max(0.0, min(event, traffic.seconds) - max(now, WARM_UP_S))
        now = event
        if arrival <= ends[first]:
            chosen = min(range(pods), key=lambda index: len(fleet[index].ends) + len(fleet[index].waiting))
            pod = fleet[chosen]
            pod.advance(now, row)
            pod.waiting.append(requests[number])
            number += 1
        else:
            chosen, pod = first, fleet[first]
            pod.advance(now, row)
            done = heapq.heappop(pod.ends)[2]
            if done.came >= WARM_UP_S:
                total += 1
                good += _is_good(done, now)
        total += _admit(pod, now, prefill, number)
        ends[chosen] = pod.next_end(row)
    return Outcome(good / total, area / pods / (traffic.seconds - WARM_UP_S))


def _admit(pod: _Pod, now: float, prefill: float, number: int) -> int:
    """Start what fits; returns how many gave up instead."""
    refused = 0
    while pod.waiting and len(pod.ends) < MOST_BATCH:
        request = pod.waiting.pop(0)
        if now - request.came > PATIENCE_S:
            refused += request.came >= WARM_UP_S
            continue
        pod.last = max(pod.last, now) + PROMPT_TOKENS * prefill
        request.began = pod.last
        heapq.heappush(pod.ends, (pod.steps + request.steps, number, request))
    return refused


def _is_good(request: _Request, now: float) -> bool:
    in_time = request.began - request.came <= TTFT_TARGET_S
    return in_time and (now - request.began) / request.tokens <= TOKEN_TARGET_S


def _draw(traffic: Traffic, rng: np.random.Generator) -> list[_Request]:
    count = int(rng.poisson(traffic.rate * traffic.seconds))
    came = np.sort(rng.uniform(0.0, traffic.seconds, count))
    kinds = rng.choice(len(traffic.mix), size=count, p=traffic.mix)
    tokens = OUTPUT_TOKENS * np.exp(rng.normal(-(LENGTH_SPREAD**2) / 2.0, LENGTH_SPREAD, count))
    length = np.maximum(0.5, rng.normal(traffic.lengths[kinds], traffic.spreads[kinds]))
    rows = zip(came.tolist(), (tokens / length).tolist(), tokens.tolist(), strict=True)
    return [_Request(at, steps, size) for at, steps, size in rows]
