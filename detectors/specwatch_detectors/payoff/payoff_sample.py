"""What one interval says about one batch bucket, and how to get there from counters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specwatch_detectors.window import Window

# Less than one step, whatever rounding left of it, is no traffic.
_LEAST_STEPS: Final = 0.5


@dataclass(frozen=True, slots=True)
class PayoffSample:
    """Counts of one interval at one mean batch size.

    Attributes:
        window: drafts and what was accepted.
        batch: mean requests in the running batch of one engine.
        request_steps: steps times requests, those without a draft included; None if unknown, then every step is
            taken to have drafted. vLLM: increase of the inter-token histogram's count (one sample per request and
            step after its first token).
        draft_tokens: proposed; None if unknown, then K per draft.
        context: mean tokens of context per request, or None.
        prompt_per_output: prompt tokens computed per output token; None if unknown, then decode alone is judged.
        step_seconds: mean step as the engine's own clients see it (gap between outputs of one request), or None.
    """

    window: Window
    batch: float
    request_steps: float | None = None
    draft_tokens: float | None = None
    context: float | None = None
    prompt_per_output: float | None = None
    step_seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no count or time.

        Raises:
            ValueError: a value is negative or not finite.
        """
        told = (
            self.batch,
            self.request_steps,
            self.draft_tokens,
            self.context,
            self.prompt_per_output,
            self.step_seconds,
        )
        if not all(math.isfinite(value) and value >= 0.0 for value in told if value is not None):
            raise ValueError(
                "counts, means and seconds of an interval are finite and not negative; None is unknown"
            )


def split_by_steps(
    whole: PayoffSample, steps: Mapping[float, float], batch_total: float | None = None
) -> tuple[PayoffSample, ...]:
    """One sample per batch bucket from a histogram of steps by batch size, such as `specwatch_step_batch_requests`.

    Drafts are shared out by requests in steps: acceptance hardly depends on the batch, so every bucket has the same
    tau and its own weight. A bucket counts as its middle size, all scaled so that they add up to the total.

    Args:
        whole: the interval; its `batch` is not used.
        steps: increase per bucket, not cumulative, by upper edge; `inf` for the last.
        batch_total: increase of the histogram's sum; None for the middle sizes as they are.

    Returns:
        In order of batch size; empty without steps.
    """
    edges = sorted(steps)
    lower = dict(zip(edges, (0.0, *edges), strict=False))
    middles = {edge: _middle(lower[edge], edge) for edge in edges if steps[edge] > 0.0}
    total = sum(steps[edge] * middle for edge, middle in middles.items())
    if total < _LEAST_STEPS:
        return ()
    scale = batch_total / total if batch_total else 1.0
    found = []
    for edge, middle in middles.items():
        share = steps[edge] * middle / total
        batch = min(edge, max(lower[edge] + 1.0, middle * scale))
        found.append(_scaled(whole, share, batch))
    return tuple(found)


def _middle(lower: float, upper: float) -> float:
    """Middle of the whole numbers above `lower` up to `upper`; of an open bucket, half as much again."""
    return 1.5 * max(1.0, lower) if math.isinf(upper) else (lower + 1.0 + upper) / 2.0


def _scaled(sample: PayoffSample, share: float, batch: float) -> PayoffSample:
    return PayoffSample(
        window=sample.window.scaled(share),
        batch=batch,
        request_steps=None if sample.request_steps is None else sample.request_steps * share,
        draft_tokens=None if sample.draft_tokens is None else sample.draft_tokens * share,
        context=sample.context,
        prompt_per_output=sample.prompt_per_output,
        step_seconds=sample.step_seconds,
    )
