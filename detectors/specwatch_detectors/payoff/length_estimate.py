"""Acceptance length per request and step, with its standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from specwatch_detectors import chain
from specwatch_detectors.window import Window

# Faded counts shrink for ever; so little is nothing, and its reciprocal no number.
_LEAST_DRAFTS: Final = 1e-6


@dataclass(frozen=True, slots=True)
class LengthEstimate:
    """tau as it was seen.

    Attributes:
        value: tokens per request and step, bonus token included.
        error: standard error, in tokens.
        most: 1 + K, which tau cannot exceed.
        effective: drafts over design effect: how many independent drafts the evidence is worth.
        coverage: share of steps in which a request had a draft.
    """

    value: float
    error: float
    most: float
    effective: float
    coverage: float


def estimate_length(
    window: Window, *, depth: int, design: float, request_steps: float | None = None
) -> LengthEstimate | None:
    """Tokens per request and step, 1 + accepted / steps, and their error, sqrt(v d / N).

    Engines count a draft only where there was one. A step in which a request had none (no n-gram match, K = 0)
    gives one token as a plain step does, so tau over all steps is what the speed-up stands on: 1 + accepted /
    drafts alone overstates it. With share c of steps drafting, mean accepted m and chain variance v of one draft,
    the variance of one step is c v + c (1 - c) m^2. The chain is smoothed by half a draft, so that all or nothing
    accepted is not taken for certainty.

    Args:
        window: drafts and what was accepted of them.
        depth: K, at least 1.
        design: design effect d, at least 1.
        request_steps: steps times requests in them, prefill left out (vLLM: samples of the inter-token histogram);
            every step is taken to have drafted if None or below the drafts.

    Returns:
        None without drafts.
    """
    drafts = window.drafts
    if drafts < _LEAST_DRAFTS:
        return None
    steps = max(drafts, request_steps or 0.0)
    coverage = drafts / steps
    most = float(depth)
    mean = min(most, window.accepted_tokens / drafts)
    variance = coverage * _variance(window, depth) + coverage * (1.0 - coverage) * mean**2
    return LengthEstimate(
        value=1.0 + mean * coverage,
        error=math.sqrt(variance * max(1.0, design) / steps),
        most=1.0 + most,
        effective=drafts / max(1.0, design),
        coverage=coverage,
    )


def _variance(window: Window, depth: int) -> float:
    """Variance of the accepted tokens of one draft, smoothed; never 0."""
    if window.accepted and not window.censored:
        pairs = zip(window.accepted, window.trials, strict=True)
        return chain.variance([(kept + 0.5) / (tried + 1.0) for kept, tried in pairs])
    mean = (window.accepted_tokens + 0.5) / (window.drafts + 1.0)
    return chain.variance(chain.geometric(min(mean, depth - 0.5 / (window.drafts + 1.0)), depth))
