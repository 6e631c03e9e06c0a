"""TensorRT-LLM's `/perf_metrics` entries: totals and times of one request, no verify steps.

Source: TensorRT-LLM main, `serve/openai_server.py`; needs `return_perf_metrics` and `perf_metrics_max_requests`.
The PyTorch flow left the speculative totals at zero until mid-2026, so zeros are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.fields import count, mapping, number
from specwatch_exporters.bodies.record import Times
from specwatch_exporters.bodies.speculation import Claims, Speculation, check
from specwatch_exporters.notices import Notice

DEFINITION = "trtllm-request"


def find(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The `perf_metrics` of an entry, bare or inside it; None if there is none."""
    spots = (mapping(body.get("perf_metrics")), body)
    return next((spot for spot in spots if isinstance(spot.get("timing_metrics"), dict)), None)


def read(metrics: Mapping[str, Any]) -> Speculation | None:
    """Read one entry; None if it has no speculative part."""
    part = metrics.get("speculative_decoding")
    if not isinstance(part, dict):
        return None
    drafted, accepted = count(part.get("total_draft_tokens")), count(part.get("total_accepted_draft_tokens"))
    if not drafted and not accepted:
        text = "TensorRT-LLM reports no draft tokens: none were drafted, or this build does not fill the record."
        return Speculation(Tally(), DEFINITION, notices=(Notice("no_speculative_record", text),))
    tally, notices = check(Claims(draft_tokens=drafted, accepted=accepted))
    return Speculation(tally, DEFINITION, notices=notices)


def times(metrics: Mapping[str, Any]) -> Times:
    """Seconds from arrival; None where a time is missing or runs backwards."""
    timing = mapping(metrics.get("timing_metrics"))
    arrival = number(timing.get("arrival_time"))
    return Times(
        queue_wait_s=_since(arrival, timing.get("first_scheduled_time")),
        ttft_s=_since(arrival, timing.get("first_token_time")),
        e2e_s=_since(arrival, timing.get("last_token_time")),
    )


def _since(start: float | None, end: object) -> float | None:
    value = number(end)
    return None if start is None or value is None or value < start else value - start
