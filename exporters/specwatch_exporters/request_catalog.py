"""The catalogue's rows of the request sidecar and the vLLM plugin: what each request went through.

The class of traffic stands in every row of a request; the histograms also say how large the batch was. What a
source cannot know has no sample; rows that the plugin never knows are the sidecar's alone.
"""

from __future__ import annotations

from typing import Final

from specwatch_exporters.metric import Kind, Metric, Source

_CLASS: Final = ("model", "traffic_class")
_SPECULATION: Final = ("model", "traffic_class", "speculation")
REQUEST_LABELS: Final = ("model", "traffic_class", "batch", "speculation")
_BOTH: Final = Source.REQUEST | Source.PLUGIN


def _counter(name: str, labels: tuple[str, ...], text: str, source: Source = _BOTH) -> Metric:
    return Metric(name, Kind.COUNTER, labels, text, source)


def _gauge(name: str, text: str) -> Metric:
    return Metric(name, Kind.GAUGE, ("traffic_class",), text, Source.REQUEST)


def _histogram(name: str, buckets: tuple[float, ...], text: str, source: Source = _BOTH) -> Metric:
    return Metric(name, Kind.HISTOGRAM, REQUEST_LABELS, text, source, buckets)


# One edge per length up to K = 8, where almost all drafts are; beyond, room for K of 11, 16 and 32.
ACCEPTANCE_LENGTH: Final = _histogram(
    "specwatch_request_acceptance_length_tokens",
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 33),
    "Tokens that one draft step gave, bonus token included: 1 + accepted. One sample per draft step, so "
    "sum / count is the mean acceptance length.",
)
# A rate is read in tenths; the edge 0 tells a draft that is dead from one that is bad.
ACCEPTANCE_RATIO: Final = _histogram(
    "specwatch_request_acceptance_ratio",
    (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    "Accepted / draft tokens of one request, 0 to 1. One sample per finished request that drafted.",
    Source.REQUEST,
)
# An idle engine schedules within milliseconds, which engines' own buckets (from 0.3 s) hide; a minute is an outage.
QUEUE_WAIT: Final = _histogram(
    "specwatch_request_queue_wait_seconds",
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    "Time from queued in the engine to first scheduled, as the engine says it of this request.",
)
# Prefill of a short prompt takes 10 to 100 ms and objectives lie between 0.2 and 2 s: the edges are closest there.
TTFT: Final = _histogram(
    "specwatch_request_time_to_first_token_seconds",
    (0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.15, 0.25, 0.4, 0.6, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0),
    "Time from the whole request to its first generated text; empty first chunks do not count.",
)
# Speculation brings a token to 2 to 10 ms, objectives are 20 to 100 ms: steps of a fifth to a half in between.
INTER_TOKEN: Final = _histogram(
    "specwatch_request_inter_token_seconds",
    (0.001, 0.002, 0.003, 0.004, 0.005, 0.0065, 0.008, 0.01, 0.0125, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0),
    "Time per output token after the first, corrected for steps of several tokens: n tokens after a gap g are n "
    "samples of g / n.",
)
# What a reader sees: steps of 5 to 50 ms, a stutter from 0.1 s, a stall (preemption, fallback) from 1 s.
INTER_CHUNK: Final = _histogram(
    "specwatch_request_inter_chunk_seconds",
    (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0),
    "Gap between two pieces of text as the user sees them, whatever the number of tokens in a piece.",
)
# From a one-word reply to a long reasoning answer; timeouts of clients and gateways sit at 30, 60, 120, 300, 600 s.
E2E: Final = _histogram(
    "specwatch_request_e2e_latency_seconds",
    (0.1, 0.25, 0.5, 1.0, 1.5, 2.5, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0),
    "Time from the whole request to the end of its answer. One sample per request that was answered in full.",
)

IN_FLIGHT: Final = _gauge("specwatch_request_in_flight", "Requests that have arrived and not ended.")
OLDEST_WAITING: Final = _gauge(
    "specwatch_request_oldest_waiting_seconds",
    "Age of the oldest streamed request that has no token yet; 0 when none waits.",
)

PROMPT_TOKENS: Final = _counter(
    "specwatch_request_prompt_tokens_total", _CLASS, "Prompt tokens of finished requests, as the engine says."
)
OUTPUT_TOKENS: Final = _counter(
    "specwatch_request_output_tokens_total", _CLASS, "Output tokens of finished requests, as the engine says."
)
DRAFTS: Final = _counter(
    "specwatch_request_drafts_total", _SPECULATION, "Draft steps: verifications that had at least one draft token."
)
DRAFT_TOKENS: Final = _counter(
    "specwatch_request_draft_tokens_total", _SPECULATION, "Draft tokens proposed to the target."
)
ACCEPTED_TOKENS: Final = _counter(
    "specwatch_request_accepted_tokens_total", _SPECULATION, "Draft tokens kept, bonus token excluded."
)
ACCEPTED_PER_POSITION: Final = _counter(
    "specwatch_request_accepted_tokens_per_position_total",
    (*_SPECULATION, "position"),
    "Draft steps whose accepted prefix reached this position (0 is first).",
)
DRAFTED_PER_POSITION: Final = _counter(
    "specwatch_request_draft_tokens_per_position_total",
    (*_SPECULATION, "position"),
    "Draft tokens proposed at this position: the true denominator of its acceptance. Positions without it are "
    "divided by drafts.",
)
FINISHED: Final = _counter(
    "specwatch_request_finished_total",
    (*_CLASS, "outcome"),
    "Requests that ended. success: answered in full; aborted: the client left; rejected: the engine refused it or "
    "pointed elsewhere (3xx, 4xx); error: the engine failed (5xx, an error in the answer, or no answer); cut: the "
    "answer broke off; unreachable: no engine.",
)
WITHOUT_RECORD: Final = _counter(
    "specwatch_request_without_record_total",
    _CLASS,
    "Requests answered in full whose answer says nothing about speculation.",
    Source.REQUEST,
)
UNREAD: Final = _counter(
    "specwatch_request_unread_total",
    ("reason",),
    "Bodies that were passed on unchanged but could not be read, or not whole, by reason.",
    Source.REQUEST,
)
FOLDED: Final = _counter(
    "specwatch_request_folded_total",
    ("limit",),
    "What went into `other` because a limit was reached. class: requests of a class too many; series: samples and "
    "counts with a combination of labels too many, which gave up their class; model: those that gave up their "
    "model, too.",
    Source.REQUEST,
)
BODY_BYTES: Final = _counter(
    "specwatch_request_body_bytes_total",
    ("direction",),
    "Bytes of bodies passed on. request: to the engine; response: to the client.",
    Source.REQUEST,
)

REQUEST_CATALOG: Final[tuple[Metric, ...]] = (
    ACCEPTANCE_LENGTH,
    ACCEPTANCE_RATIO,
    QUEUE_WAIT,
    TTFT,
    INTER_TOKEN,
    INTER_CHUNK,
    E2E,
    IN_FLIGHT,
    OLDEST_WAITING,
    PROMPT_TOKENS,
    OUTPUT_TOKENS,
    DRAFTS,
    DRAFT_TOKENS,
    ACCEPTED_TOKENS,
    ACCEPTED_PER_POSITION,
    DRAFTED_PER_POSITION,
    FINISHED,
    WITHOUT_RECORD,
    UNREAD,
    FOLDED,
    BODY_BYTES,
)
