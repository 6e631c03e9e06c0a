"""Continuous batching with speculative verification, as vLLM V1's scheduler counts it, without a clock.

Rules and their source (vLLM 0.32 scheduler; checked against pages of 0.25.1 and a running 0.32.0):

- Running requests come first, in order; then waiting ones, first in first out, while slots, the step's token
  budget and KV blocks allow. A lack of blocks preempts the request that was scheduled last.
- The step that completes a prompt gives one token and verifies no draft. Every later step verifies one draft
  of K tokens; a step without draft tokens is not a draft.
- Drafts are not shortened at `max_tokens`, only at `max_model_len`. Tokens past a stop are cut from the
  output and from `generation_tokens`, yet stay counted as accepted.
- A preempted request computes everything again; that counts neither as prompt tokens nor as a first token.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from specwatch_exporters.replay.chain import Rates
from specwatch_exporters.replay.class_tally import ClassTally
from specwatch_exporters.replay.kv_cache import KvCache
from specwatch_exporters.replay.sequence import FinishReason, Sequence, Submission, admitted
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.step_result import Load, Output, StepResult, summed_up


@dataclass(frozen=True, slots=True)
class Slice:
    """One sequence's part in a step: tokens to compute, of which `drafted` are draft tokens."""

    sequence: Sequence
    tokens: int
    drafted: int


@dataclass(slots=True)
class StepPlan:
    """A step that has begun.

    Attributes:
        started: beginning, engine seconds.
        room: tokens that still fit into the step.
        duration: seconds until its results exist.
    """

    started: float
    room: int
    duration: float = 0.0
    slices: list[Slice] = field(default_factory=list)
    preempted: int = 0
    prefix_queries: int = 0

    def add(self, part: Slice) -> None:
        """Compute this too."""
        self.slices.append(part)
        self.room -= part.tokens


class Scheduler:
    """Requests, slots, KV blocks and draft counts of one engine.

    A step has a beginning, where requests are chosen, and an end, where tokens appear; a server lets the
    planned duration pass in between. `step` does both at once for simulations.

    Args:
        settings: see `ReplaySettings`.
        epoch: distinguishes random streams of successive starts of one engine.
    """

    def __init__(self, settings: ReplaySettings, epoch: int = 0) -> None:
        self.settings = settings
        self.running: list[Sequence] = []
        self.waiting: deque[Sequence] = deque()
        self.kv_cache = KvCache(settings.kv_size, settings.block_size)
        self.tallies = {name: ClassTally.of_depth(settings.depth) for name in settings.class_names}
        self._seed = f"{settings.seed}.{epoch}"
        self._submitted = 0
        self._rates: Mapping[str, Rates] = {}
        self.reconfigure(settings)

    def reconfigure(self, settings: ReplaySettings) -> None:
        """Take new settings for slots, live K, acceptance and speed; the rest is fixed at the start."""
        self.settings = settings
        self._rates = {name: settings.rates(name) for name in settings.class_names}

    @property
    def load(self) -> Load:
        """Gauges now."""
        return Load(len(self.running), len(self.waiting), self.kv_cache.usage)

    def submit(self, submission: Submission, now: float) -> Sequence:
        """Put a request at the end of the queue."""
        sequence = admitted(submission, self._submitted, self._seed, now)
        self._submitted += 1
        self.waiting.append(sequence)
        return sequence

    def abort(self, sequence: Sequence) -> bool:
        """Forget a request wherever it is; False when it had already finished."""
        if sequence.finish is not None:
            return False
        sequence.finish = FinishReason.ABORT
        self.kv_cache.free(sequence)
        holder = self.running if sequence in self.running else self.waiting
        holder.remove(sequence)
        return True

    def step(self, now: float) -> StepResult | None:
        """Run one whole step that begins at `now`; None when there is nothing to run."""
        plan = self.begin(now)
        return None if plan is None else self.finish(plan, plan.started + plan.duration)

    def begin(self, now: float) -> StepPlan | None:
        """Choose what the next step computes; None when nothing can run."""
        plan = StepPlan(started=now, room=self.settings.max_batched_tokens)
        self._plan_running(plan)
        if not plan.preempted:
            self._admit_waiting(plan)
        if not plan.slices:
            return None
        prefill = sum(part.tokens for part in plan.slices if part.sequence.prefilling)
        depth = max(part.drafted for part in plan.slices)
        plan.duration = self.settings.step_seconds(len(plan.slices), prefill, depth)
        return plan

    def finish(self, plan: StepPlan, now: float) -> StepResult:
        """Give the step's results; requests aborted since its beginning give none."""
        result = StepResult(ended=now, preempted=plan.preempted, prefix_queries=plan.prefix_queries)
        for part in plan.slices:
            if part.sequence.finish is None:
                self._complete(part, result)
        if result.finished:
            self.running = [sequence for sequence in self.running if sequence.finish is None]
        result.load = self.load
        return result

    def _plan_running(self, plan: StepPlan) -> None:
        index = 0
        while index < len(self.running):
            sequence = self.running[index]
            if plan.room <= 0:
                return
            part = self._slice(sequence, plan.room)
            if not self._make_room(sequence, part.tokens, plan):
                return
            plan.add(part)
            index += 1

    def _make_room(self, sequence: Sequence, tokens: int, plan: StepPlan) -> bool:
        """Find KV blocks, preempting from the end of the running list; False when it hit the request itself."""
        while not self.kv_cache.grow(sequence, sequence.computed + tokens):
            victim = self.running.pop()
            self.kv_cache.free(victim)
            victim.computed = 0
            victim.prefilling = True
            victim.preemptions += 1
            self.waiting.appendleft(victim)
            plan.preempted += 1
            if victim is sequence:
                return False
        return True

    def _admit_waiting(self, plan: StepPlan) -> None:
        while self.waiting and len(self.running) < self.settings.slots and plan.room > 0:
            sequence = self.waiting[0]
            part = self._slice(sequence, plan.room)
            if not self.kv_cache.grow(sequence, part.tokens):
                return
            self.waiting.popleft()
            self.running.append(sequence)
            plan.add(part)
            if sequence.times.scheduled is None:
                sequence.times.scheduled = plan.started
                plan.prefix_queries += sequence.submission.prompt_tokens

    def _slice(self, sequence: Sequence, room: int) -> Slice:
        if sequence.prefilling:
            return Slice(sequence, min(sequence.tokens - sequence.computed, room), 0)
        drafted = min(self._draft_depth(sequence), room - 1)
        return Slice(sequence, 1 + drafted, drafted)

    def _draft_depth(self, sequence: Sequence) -> int:
        share = self.settings.draft_probability
        if share < 1.0 and sequence.rng.random() >= share:
            return 0
        left = self.settings.max_model_len - sequence.tokens - 1
        return max(min(self.settings.depth_now, left), 0)

    def _complete(self, part: Slice, result: StepResult) -> None:
        sequence = part.sequence
        if sequence.prefilling:
            sequence.computed += part.tokens
            if sequence.computed < sequence.tokens:
                return
            sequence.prefilling = False
            self._emit(sequence, 1, result)
            return
        kept = self._verify(part, result) if part.drafted else 0
        sequence.computed += 1 + kept
        self._emit(sequence, 1 + kept, result)

    def _verify(self, part: Slice, result: StepResult) -> int:
        sequence = part.sequence
        name = sequence.submission.traffic_class.name
        kept = sequence.verify(self._rates[name], part.drafted)
        sequence.record.note(part.drafted, kept)
        self.tallies[name].note(part.drafted, kept)
        result.drafts.append((part.drafted, kept))
        return kept

    def _emit(self, sequence: Sequence, count: int, result: StepResult) -> None:
        before = sequence.generated
        kept = sequence.append(count, self.settings.max_model_len)
        result.generation_tokens += kept
        result.outputs.append(Output(sequence, before, kept, sequence.finish))
        times = sequence.times
        if times.last_token is None:
            times.first_token = result.ended
            result.prompt_tokens += sequence.submission.prompt_tokens
            result.first_token_latencies.append(result.ended - times.queued)
        else:
            result.inter_token_latencies.append(result.ended - times.last_token)
        times.last_token = result.ended
        if sequence.finish is not None:
            self.kv_cache.free(sequence)
            result.finished.append(summed_up(sequence, result.ended))
