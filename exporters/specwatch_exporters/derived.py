"""Figures that stay right when K changes or steps carry no draft.

They count every step of every request, so they show K = 0 phases, n-gram misses and fallback, which
1 + accepted / drafts hides. Approximate at the edges of a window: aborted streams, tokens cut after the end.
Source: vLLM samples inter-token latency once per output event (0.33.0 `vllm/v1/metrics/loggers.py`).
"""

from __future__ import annotations

from specwatch_exporters import catalog
from specwatch_exporters.acceptance import ratio
from specwatch_exporters.counts import Counts


def tokens_per_step(counts: Counts) -> float | None:
    """Output tokens per request and step: generated / (inter-token samples + first tokens)."""
    events = _sum(_count(counts, catalog.ITL_STEP), _count(counts, catalog.TTFT))
    return ratio(counts.total(catalog.GENERATION_TOKENS.name), events)


def token_latency(counts: Counts) -> float | None:
    """Mean seconds per output token after the first, whatever the number of tokens in a step."""
    per_step = counts.histogram_sum(catalog.ITL_STEP.name)
    if per_step is None:
        return ratio(counts.histogram_sum(catalog.ITL_TOKEN.name), _count(counts, catalog.ITL_TOKEN))
    generated, first = counts.total(catalog.GENERATION_TOKENS.name), _count(counts, catalog.TTFT)
    if generated is None or first is None:
        return None
    return ratio(per_step, generated - first)


def speculating_share(counts: Counts) -> float | None:
    """Share of request steps that verified a draft, 0 to 1."""
    share = ratio(counts.total(catalog.DRAFTS.name), _count(counts, catalog.ITL_STEP))
    return None if share is None else min(1.0, share)


def _count(counts: Counts, metric: catalog.Metric) -> float | None:
    return counts.total(f"{metric.name}_count")


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right
