"""What the simulated engines count, all together, with the edges of vLLM's own histograms."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final, Self

from specwatch_exporters.replay.page_families import FIRST_TOKEN_BUCKETS, INTER_TOKEN_BUCKETS, LATENCY_BUCKETS

WAIT_EDGES: Final = LATENCY_BUCKETS
TTFT_EDGES: Final = FIRST_TOKEN_BUCKETS
TPOT_EDGES: Final = INTER_TOKEN_BUCKETS


def _empty(edges: tuple[float, ...]) -> list[int]:
    return [0] * (len(edges) + 1)


@dataclass(slots=True)
class EngineCounters:
    """Counts of all engines since the start; a restart takes nothing back, as increases that know resets do not.

    Attributes:
        finished: requests.
        wait_s: sum of their queue waits, seconds.
        inference_s: sum of their times from first scheduled to last token, seconds.
        tokens: output tokens.
        steps: request steps: steps times requests in them.
        busy_s: pod seconds with at least one request.
        waits: finished requests by bucket of their queue wait.
        ttfts: requests by bucket of their time to first token.
        tpots: finished requests by bucket of their time per output token.
    """

    finished: int = 0
    wait_s: float = 0.0
    inference_s: float = 0.0
    tokens: float = 0.0
    steps: float = 0.0
    busy_s: float = 0.0
    waits: list[int] = field(default_factory=lambda: _empty(WAIT_EDGES))
    ttfts: list[int] = field(default_factory=lambda: _empty(TTFT_EDGES))
    tpots: list[int] = field(default_factory=lambda: _empty(TPOT_EDGES))

    def first_token(self, seconds: float) -> None:
        """A first token came."""
        self.ttfts[bisect_left(TTFT_EDGES, seconds)] += 1

    def end(self, wait: float, inference: float, per_token: float) -> None:
        """A request finished."""
        self.finished += 1
        self.wait_s += wait
        self.inference_s += inference
        self.waits[bisect_left(WAIT_EDGES, wait)] += 1
        self.tpots[bisect_left(TPOT_EDGES, per_token)] += 1

    def copy(self) -> Self:
        """As they are now."""
        return type(self)(
            self.finished,
            self.wait_s,
            self.inference_s,
            self.tokens,
            self.steps,
            self.busy_s,
            list(self.waits),
            list(self.ttfts),
            list(self.tpots),
        )
