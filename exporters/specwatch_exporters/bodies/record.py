"""One request's record: what a response says about speculation, tokens and times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.speculation import Speculation
from specwatch_exporters.notices import Notice


class Times(NamedTuple):
    """Times of one request, seconds; None where unknown."""

    queue_wait_s: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None
    token_latency_s: float | None = None


NO_TIMES = Times()


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """What one response tells; None where it tells nothing.

    Attributes:
        engine: `vllm`, `sglang`, `trtllm`, or None when the body does not show it.
        model: as the body names it.
        speculation: speculative counts, or None if the response carries no record.
        prompt_tokens: tokens of the prompt.
        completion_tokens: generated tokens.
        finish_reason: why generation ended, of the first choice.
        times: what the engine says about time.
    """

    engine: str | None = None
    model: str | None = None
    speculation: Speculation | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    times: Times = NO_TIMES

    @property
    def queue_wait_s(self) -> float | None:
        """Arrival to first schedule, seconds."""
        return self.times.queue_wait_s

    @property
    def ttft_s(self) -> float | None:
        """Arrival to first token, seconds; vLLM's body counts from the schedule, so the queue wait was added."""
        return self.times.ttft_s

    @property
    def e2e_s(self) -> float | None:
        """Arrival to last token, seconds."""
        return self.times.e2e_s

    @property
    def token_latency_s(self) -> float | None:
        """Mean seconds per token after the first."""
        return self.times.token_latency_s

    @property
    def tally(self) -> Tally:
        """Speculative counts; all unknown without a record."""
        return Tally() if self.speculation is None else self.speculation.tally

    @property
    def histogram(self) -> tuple[int, ...]:
        """Index j holds the verify steps that accepted exactly j tokens; empty if not told."""
        return () if self.speculation is None else self.speculation.histogram

    @property
    def per_step_accepted(self) -> tuple[int, ...]:
        """Accepted tokens of each verify step; empty if not told."""
        return () if self.speculation is None else self.speculation.per_step_accepted

    @property
    def per_step_drafted(self) -> tuple[int, ...]:
        """Proposed tokens of each verify step; empty if not told."""
        return () if self.speculation is None else self.speculation.per_step_drafted

    @property
    def speculative_tokens(self) -> int | None:
        """K, or None."""
        return None if self.speculation is None else self.speculation.speculative_tokens

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the user must know about this record."""
        return () if self.speculation is None else self.speculation.notices
