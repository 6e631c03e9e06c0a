"""Say so when an engine's time to first token cannot be what its name says: too short, or counted too often.

vLLM 0.5 did both: every request stood in the first bucket of 1 ms (vllm-project/vllm#6337, #8819), and first tokens
were counted for more than the requests there were (#8115).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specwatch_exporters.notices import Notice
from specwatch_exporters.report import Latency

SHORTEST: Final = 0.001
"""Seconds that no answer of a language model takes to its first token: the first edge of vLLM's buckets."""
LEAST_REQUESTS: Final = 100
LEAST_EXCESS: Final = 1.5


def first_token_notices(
    model: str, ttft: Latency | None, finished: float | None, running: float | None
) -> Iterator[Notice]:
    """What is odd about the first tokens of a span.

    Args:
        model: for the sentence.
        ttft: None without observations.
        finished: requests that ended in the span, or None.
        running: requests under way now, or None.
    """
    if ttft is None:
        return
    if ttft.p99_limits is not None and ttft.p99_limits[1] is not None and ttft.p99_limits[1] <= SHORTEST:
        yield Notice(
            "ttft_not_measured",
            f"{model}: every time to first token ({ttft.count:,.0f}) is under {SHORTEST * 1e3:g} ms: no model "
            "answers so fast. The engine does not measure this time; take it from the request sidecar or a client.",
        )
    if not finished or ttft.count < LEAST_REQUESTS:
        return
    if ttft.count > LEAST_EXCESS * (finished + (running or 0.0)):
        yield Notice(
            "ttft_counted_twice",
            f"{model}: {ttft.count:,.0f} first tokens, but {finished:,.0f} requests finished: unless the rest "
            "are still running, requests are in this histogram more than once, as after preemption or for each "
            "chunk of a prefill. Do not take its count for requests.",
        )
