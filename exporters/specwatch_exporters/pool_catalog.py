"""The catalogue's rows of a request sidecar with several upstreams: what each pool got, and how it did."""

from __future__ import annotations

from typing import Final

from specwatch_exporters.metric import Kind, Metric, Source

_POOL: Final = ("pool",)

# From 1 ms per token to a hang, in steps of a third: health compares a p99 with one half as large again.
_EDGES: Final = tuple(round(0.001 * (4.0 / 3.0) ** step, 5) for step in range(28))

SHARE: Final = Metric(
    "specwatch_request_pool_share_ratio",
    Kind.GAUGE,
    _POOL,
    "Share of new requests that the weights give to this pool, 0 to 1.",
    Source.REQUEST,
)
IN_FLIGHT: Final = Metric(
    "specwatch_request_pool_in_flight",
    Kind.GAUGE,
    _POOL,
    "Requests that were sent to this pool and have not ended: a pool without weight is drained at 0.",
    Source.REQUEST,
)
REQUESTS: Final = Metric(
    "specwatch_request_pool_requests_total",
    Kind.COUNTER,
    ("pool", "outcome"),
    "Requests of this pool that ended; the outcomes are those of specwatch_request_finished_total.",
    Source.REQUEST,
)
PASSED_OVER: Final = Metric(
    "specwatch_request_pool_passed_over_total",
    Kind.COUNTER,
    _POOL,
    "Requests that were this pool's by the weights and went to another one because it could not be reached.",
    Source.REQUEST,
)
OUTPUT_TOKENS: Final = Metric(
    "specwatch_request_pool_output_tokens_total",
    Kind.COUNTER,
    _POOL,
    "Output tokens of this pool's finished requests, as the engine says.",
    Source.REQUEST,
)
TOKEN_LATENCY: Final = Metric(
    "specwatch_request_pool_token_latency_seconds",
    Kind.HISTOGRAM,
    _POOL,
    "End-to-end time over output tokens, queue included. One sample per request that was answered in full and "
    "whose tokens are known.",
    Source.REQUEST,
    _EDGES,
)

POOL_CATALOG: Final[tuple[Metric, ...]] = (SHARE, IN_FLIGHT, REQUESTS, PASSED_OVER, OUTPUT_TOKENS, TOKEN_LATENCY)
