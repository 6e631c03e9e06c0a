"""What one engine step produced: outputs for clients, observations for the metrics page."""

from __future__ import annotations

from dataclasses import dataclass, field

from specwatch_exporters.replay.sequence import FinishReason, Sequence


@dataclass(frozen=True, slots=True)
class Output:
    """New tokens of one request.

    Attributes:
        first: position of the first new token, counted from 0.
        tokens: new tokens, end token included.
        finish: set on the request's last output.
    """

    sequence: Sequence
    first: int
    tokens: int
    finish: FinishReason | None = None

    @property
    def request_id(self) -> str:
        """The request that it belongs to."""
        return self.sequence.request_id


@dataclass(frozen=True, slots=True)
class Finished:
    """Sums over one finished request's life, as vLLM observes them at the finish; seconds and tokens.

    Attributes:
        queue: first scheduling minus arrival, preemptions left out.
        per_output_token: decode time over all tokens but the first; 0 with one token.
    """

    reason: FinishReason
    e2e: float
    queue: float
    prefill: float
    inference: float
    decode: float
    per_output_token: float
    prompt_tokens: int
    generation_tokens: int
    max_tokens: int
    preemptions: int


@dataclass(frozen=True, slots=True)
class Load:
    """Gauges: requests running and waiting, share of KV blocks held (0 to 1)."""

    running: int
    waiting: int
    kv_usage: float


@dataclass(slots=True)
class StepResult:
    """Everything that happened in one step.

    Attributes:
        ended: end of the step, engine seconds.
        prompt_tokens: prompt tokens of requests that got their first token.
        generation_tokens: output tokens, cut ones left out.
        prefix_queries: prompt tokens looked up in the prefix cache.
        first_token_latencies: seconds from arrival.
        inter_token_latencies: seconds since the request's previous output, one per output (vLLM: per step).
        drafts: (drafted, accepted) per draft step; accepted before any cut.
        preempted: requests put back for lack of KV blocks.
    """

    ended: float
    load: Load = Load(0, 0, 0.0)
    outputs: list[Output] = field(default_factory=list)
    prompt_tokens: int = 0
    generation_tokens: int = 0
    prefix_queries: int = 0
    first_token_latencies: list[float] = field(default_factory=list)
    inter_token_latencies: list[float] = field(default_factory=list)
    drafts: list[tuple[int, int]] = field(default_factory=list)
    finished: list[Finished] = field(default_factory=list)
    preempted: int = 0


def summed_up(sequence: Sequence, ended: float) -> Finished:
    """Close a request's books; it must have been scheduled and have given at least one token."""
    times = sequence.times
    scheduled = times.queued if times.scheduled is None else times.scheduled
    first = scheduled if times.first_token is None else times.first_token
    last = first if times.last_token is None else times.last_token
    following = sequence.generated - 1
    return Finished(
        reason=sequence.finish or FinishReason.ABORT,
        e2e=ended - times.queued,
        queue=scheduled - times.queued,
        prefill=first - scheduled,
        inference=last - scheduled,
        decode=last - first,
        per_output_token=(last - first) / following if following > 0 else 0.0,
        prompt_tokens=sequence.submission.prompt_tokens,
        generation_tokens=sequence.generated,
        max_tokens=sequence.submission.max_tokens,
        preemptions=sequence.preemptions,
    )
