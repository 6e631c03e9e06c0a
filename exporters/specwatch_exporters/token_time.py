"""Time per token when a step, and so a chunk, carries several tokens."""

from __future__ import annotations

from specwatch_exporters.acceptance import ratio


def tokens_per_chunk(chunk_gap: float | None, time_per_token: float | None) -> float | None:
    """Tokens that a chunk must carry on average, from both mean times in the same unit.

    A benchmark's inter-token latency is the gap between chunks; beside a time per output token that counts tokens
    it gives how many came together (reported against vLLM's and SGLang's benchmarks, which print both).

    Returns:
        Their quotient, or None if a time is unknown or the time per token is not positive.
    """
    return ratio(chunk_gap, time_per_token)


def inter_token(chunk_gap: float | None, tokens: float | None) -> float | None:
    """Time per token of a chunk: its gap shared among its tokens; None without tokens."""
    return ratio(chunk_gap, tokens)
