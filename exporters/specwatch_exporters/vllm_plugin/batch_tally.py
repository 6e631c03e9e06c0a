"""Everything that is counted of one engine's steps with batches of similar size, until the next flush."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specwatch_exporters.vllm_plugin.bucket_tally import BucketTally
from specwatch_exporters.vllm_plugin.draft_tally import DraftTally, accepted_lengths
from specwatch_exporters.vllm_plugin.finish_reasons import ANSWERED


@dataclass(frozen=True, slots=True)
class Edges:
    """Finite upper edges of the latency histograms, in seconds."""

    queue_wait: Sequence[float]
    ttft: Sequence[float]
    gap: Sequence[float]
    token: Sequence[float]
    e2e: Sequence[float]


class BatchTally:
    """Counts of one engine and one bucket of batch sizes; thrown away when they have been published.

    Attributes:
        sizes: steps by exact batch size.
        drafts: speculative counts.
        queue_wait: seconds from queued to first scheduled, one per finished request.
        ttft: seconds from arrival to the first token, one per first token.
        gap: seconds between outputs of one request, one per output after the first.
        token: the same time shared among the tokens of each output, one per token.
        e2e: seconds from arrival to the last token, one per request that was answered in full.
        outcomes: finished requests by outcome.
        prompt_tokens: of finished requests.
        output_tokens: of finished requests.
    """

    __slots__ = (
        "drafts",
        "e2e",
        "gap",
        "outcomes",
        "output_tokens",
        "prompt_tokens",
        "queue_wait",
        "sizes",
        "token",
        "ttft",
    )

    def __init__(self, edges: Edges) -> None:
        self.sizes: dict[int, int] = {}
        self.drafts = DraftTally()
        self.queue_wait = BucketTally(edges.queue_wait)
        self.ttft = BucketTally(edges.ttft)
        self.gap = BucketTally(edges.gap)
        self.token = BucketTally(edges.token)
        self.e2e = BucketTally(edges.e2e)
        self.outcomes: dict[str, int] = {}
        self.prompt_tokens = 0
        self.output_tokens = 0

    def add_tokens(self, seconds: float, outputs: int, tokens: int, drafts: int, accepted: Sequence[int]) -> None:
        """Observe the time per token of one step's outputs, first tokens left out.

        A request that accepted m draft tokens waited its gap for m + 1 tokens. The step tells how many requests
        accepted how many, but not which, so each is taken to have waited the mean gap, which is exact when all
        waited for the same step. Where the counts do not fit together (several API servers share the step, a stop
        cut tokens off) all tokens get the mean. Count and sum are exact in both.

        Args:
            seconds: sum of the gaps.
            outputs: number of gaps.
            tokens: tokens in those outputs.
            drafts: draft steps among them.
            accepted: drafts that reached position j.
        """
        if tokens <= 0:
            return
        if drafts > outputs or tokens != outputs + sum(accepted):
            self.token.add(seconds / tokens, tokens)
            return
        mean = seconds / outputs
        lengths = accepted_lengths(drafts, accepted)
        lengths[0] += outputs - drafts
        for kept, times in enumerate(lengths):
            if times:
                self.token.add(mean / (kept + 1), times * (kept + 1))

    def add_request(self, outcome: str, prompt: int, output: int, queued_s: float, e2e_s: float) -> None:
        """Count one finished request; a queue wait of exactly zero is one that the engine did not measure.

        vLLM fills queue times from events that only an engine core with statistics sends; without them the
        difference of two unset times is 0.0, and of one unset time it is negative.
        """
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.prompt_tokens += prompt
        self.output_tokens += output
        if queued_s > 0:
            self.queue_wait.add(queued_s)
        if outcome in ANSWERED and e2e_s > 0:
            self.e2e.add(e2e_s)
