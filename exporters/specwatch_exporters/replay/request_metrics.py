"""The `metrics` object of a response: acceptance and timings of one request, in vLLM 0.32's shape."""

from __future__ import annotations

from typing import Any

from specwatch_exporters.replay.sequence import DraftRecord, Sequence
from specwatch_exporters.replay.settings import PerRequest, ReplaySettings

TIMING_FIELDS = (
    "time_to_first_token_ms",
    "generation_time_ms",
    "queue_time_ms",
    "mean_itl_ms",
    "tokens_per_second",
)


def metrics_object(sequence: Sequence, settings: ReplaySettings) -> dict[str, Any] | None:
    """Every field of the object, null where unknown; None when neither part is switched on.

    A stream's usage chunk leaves the nulls out, a whole response keeps them: see `without_nulls`.
    """
    speculative = settings.per_request is not PerRequest.NONE and settings.depth > 0
    if not speculative and not settings.timings:
        return None
    timings = _timings(sequence) if settings.timings else dict.fromkeys(TIMING_FIELDS)
    record = None
    if speculative:
        detailed = settings.per_request is PerRequest.DETAILED
        record = _speculative(sequence.record, settings.depth, detailed=detailed)
    return {**timings, "speculative_decoding": record}


def without_nulls(value: Any) -> Any:
    """Drop null members of objects, at every depth."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _speculative(record: DraftRecord, depth: int, *, detailed: bool) -> dict[str, Any]:
    steps = len(record.accepted)
    accepted = sum(record.accepted)
    drafted = sum(record.drafted)
    histogram = [0] * (depth + 1)
    for kept in record.accepted:
        histogram[kept] += 1
    lists = detailed and steps > 0
    return {
        "mean_acceptance_length": 1.0 + accepted / steps if steps else 1.0,
        "draft_acceptance_rate": accepted / drafted if drafted else 0.0,
        "acceptance_histogram": histogram,
        "num_spec_steps": steps,
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": drafted,
        "num_spec_tokens": depth,
        "per_step_accepted": list(record.accepted) if lists else None,
        "per_step_drafted": list(record.drafted) if lists else None,
    }


def _timings(sequence: Sequence) -> dict[str, float | None]:
    """Milliseconds; the first token counts from scheduling, unlike the page's TTFT."""
    times = sequence.times
    values: dict[str, float | None] = dict.fromkeys(TIMING_FIELDS)
    if times.scheduled is None or times.first_token is None or times.last_token is None:
        return values
    decode = times.last_token - times.first_token
    inference = times.last_token - times.scheduled
    values["time_to_first_token_ms"] = (times.first_token - times.scheduled) * 1000
    values["generation_time_ms"] = decode * 1000
    values["queue_time_ms"] = (times.scheduled - times.queued) * 1000
    if sequence.generated > 1:
        values["mean_itl_ms"] = decode / (sequence.generated - 1) * 1000
    if inference > 0:
        values["tokens_per_second"] = sequence.generated / inference
    return values
