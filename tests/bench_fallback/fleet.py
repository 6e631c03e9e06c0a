"""The pods: which level each serves at, how full they are, who waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bench_fallback.kind import PROMPT_TOKENS
from bench_fallback.lever import STAGES, VERIFY_S, Lever
from bench_fallback.plan import MOST_BATCH, PATIENCE_S, PODS, TICK_S
from bench_fallback.steps import DRAFT, LEVELS, batch_for, step_at

ROLLOUT_PODS: Final = 2
"""Pods that are out while any rollout goes on."""

Row = tuple[float, float, float]


@dataclass(slots=True)
class Served:
    """What the pods of one level did in a tick.

    Attributes:
        requests: served.
        offered: that came to them.
        refused: that would have waited too long.
        batch: mean running batch of a pod.
        step_s: seconds between two steps of a request, prefill of others included.
        wait_s: mean wait of a request that came.
        queue: requests that wait at the end.
        prompt: prompt tokens computed per request.
    """

    requests: float
    offered: float
    refused: float
    batch: float
    step_s: float
    wait_s: float
    queue: float
    prompt: float


@dataclass
class Fleet:
    """All pods of the model.

    Pods of a level are alike and share one queue, as behind a router that sends each request to the emptiest. A
    request lives for a few seconds, a tick is ten: the batch is the one at which as many requests leave as come,
    and only the queue is carried from tick to tick.

    Attributes:
        lever: that moves pods.
        prefill: seconds per prompt token.
        pods: serving, by level.
        goal: level that pods are moving to.
    """

    lever: Lever
    prefill: float
    pods: list[int] = field(default_factory=lambda: [PODS, 0, 0])
    goal: int = DRAFT
    probing: bool = False
    lost_out_s: float = 0.0
    _queue: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    _cold: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    _moving: list[tuple[float, int, int]] = field(default_factory=list)
    _stages: tuple[int, ...] = (PODS,)
    _hold_until: float = 0.0

    @property
    def settled(self) -> bool:
        """All pods are where they should be."""
        return not self._moving and self.pods[self.goal] + (1 if self.probing else 0) == PODS

    @property
    def out(self) -> int:
        """Pods that serve nobody because they change."""
        return sum(count for _, _, count in self._moving)

    def move(self, goal: int, now: float, *, staged: bool) -> None:
        """Begin to move all pods to a level, in stages or as fast as the lever allows."""
        self.goal, self.probing, self._hold_until = goal, False, now
        self._stages = STAGES if staged else (PODS,)

    def probe(self, now: float) -> None:
        """Send one pod to the drafter."""
        self.probing = True
        self._take(self.goal, DRAFT, 1, now)

    def end_probe(self, now: float) -> None:
        """Take it back."""
        self.probing = False
        if self.pods[DRAFT] and self.goal != DRAFT:
            self._take(DRAFT, self.goal, 1, now)

    def advance(self, now: float) -> None:
        """Pods that are ready join; the next ones leave."""
        if not self._moving and self.pods[self.goal] == PODS:
            return
        ready = [entry for entry in self._moving if entry[0] <= now]
        self._moving = [entry for entry in self._moving if entry[0] > now]
        for _, level, count in ready:
            self._join(level, count)
        if self.probing or self._moving or now < self._hold_until:
            return
        there = self.pods[self.goal]
        stage = next((size for size in self._stages if size > there), PODS)
        if ready and there in self._stages and there < PODS:
            self._hold_until = now + VERIFY_S
            return
        for level in range(len(LEVELS)):
            if level != self.goal and self.pods[level] and there < stage:
                self._take(level, self.goal, min(self.lever.at_once, stage - there, self.pods[level]), now)
                return

    def _take(self, source: int, target: int, count: int, now: float) -> None:
        if self.pods[source] < count:  # a pod that is still on its way turns back
            turning = next((entry for entry in self._moving if entry[1] == source), None)
            if turning is not None:
                self._moving.remove(turning)
                self._moving.append((now + self.lever.out_s, target, turning[2]))
            return
        self.pods[source] -= count
        share = count / (self.pods[source] + count)
        self._cold[source] *= 1.0 - share
        if not self.pods[source]:
            self._queue[target] += self._queue[source]
            self._queue[source] = 0.0
        self._moving.append((now + self.lever.out_s, target, count))
        if self.lever.out_s <= 0.0:
            self._moving.pop()
            self._join(target, count)

    def _join(self, level: int, count: int) -> None:
        self.pods[level] += count
        if self.lever.cold_s > 0.0:
            self._cold[level] += count

    def tick(
        self, arrivals: float, steps_per_request: Row, rows: tuple[Row, Row, Row], *, rollout: bool
    ) -> list[Served | None]:
        """Serve one tick; by level, None where it has no pods.

        Args:
            arrivals: requests that came.
            steps_per_request: mean, by level.
            rows: step times by level.
            rollout: some pods are out for a rollout.
        """
        serving = sum(self.pods)
        found: list[Served | None] = [None, None, None]
        self.lost_out_s += self.out / PODS * TICK_S
        for level, count in enumerate(self.pods):
            if count:
                pods = count * (1.0 - ROLLOUT_PODS / PODS) if rollout else float(count)
                offered = arrivals * count / serving
                found[level] = self._serve(level, pods, offered, steps_per_request[level], rows[level])
        return found

    def _serve(self, level: int, pods: float, offered: float, steps: float, row: Row) -> Served:
        if self._cold[level] > 0.0:
            cold = min(1.0, self._cold[level] / pods)
            self._cold[level] *= 1.0 - TICK_S / self.lever.cold_s if self.lever.cold_s > TICK_S else 0.0
        else:
            cold = 0.0
        prompt = PROMPT_TOKENS * (1.0 + cold)
        work = prompt * self.prefill
        most = MOST_BATCH / row[2]
        capacity = pods * most / (steps + most * work) * TICK_S
        before = self._queue[level]
        served = min(before + offered, capacity)
        queue = before + offered - served
        refused = max(0.0, queue - capacity * PATIENCE_S / TICK_S)
        queue -= refused
        self._queue[level] = queue
        each = served / pods / TICK_S
        busy = each * work
        batch = batch_for(each * steps / (1.0 - busy), row)
        wait = (before + queue) / 2.0 / capacity * TICK_S
        return Served(served, offered, refused, batch, step_at(batch, row) / (1.0 - busy), wait, queue, prompt)
