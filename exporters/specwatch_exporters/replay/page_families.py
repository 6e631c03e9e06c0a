"""Families of vLLM 0.32's metrics page: names, types, labels and buckets, in the page's order.

Source: a page of a running vLLM 0.32.0 (Python frontend, one engine). Counters are named without `_total`,
which the exposition adds.
"""

from __future__ import annotations

from dataclasses import dataclass

LATENCY_BUCKETS: tuple[float, ...] = (
    0.3,
    0.5,
    0.8,
    1.0,
    1.5,
    2.0,
    2.5,
    5.0,
    10.0,
    15.0,
    20.0,
    30.0,
    40.0,
    50.0,
    60.0,
    120.0,
    240.0,
    480.0,
    960.0,
    1920.0,
    7680.0,
)
FIRST_TOKEN_BUCKETS: tuple[float, ...] = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0,
    2.5,
    5.0,
    7.5,
    10.0,
    20.0,
    40.0,
    80.0,
    160.0,
    640.0,
    2560.0,
)
INTER_TOKEN_BUCKETS: tuple[float, ...] = (
    0.01,
    0.025,
    0.05,
    0.075,
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.75,
    1.0,
    2.5,
    5.0,
    7.5,
    10.0,
    20.0,
    40.0,
    80.0,
)
ITERATION_BUCKETS: tuple[float, ...] = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
PARAMETER_N_BUCKETS: tuple[float, ...] = (1, 2, 5, 10, 20)
PREEMPTION_BUCKETS: tuple[float, ...] = (1, 2, 3, 4, 5, 10, 20)
FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")


@dataclass(frozen=True, slots=True)
class Family:
    """One counter or gauge family.

    Attributes:
        kind: `counter` or `gauge`.
        label: the family's own label beside `model_name` and `engine`; empty when it has none.
        values: every value of that label; its series exist from the start.
        engine: False when the family lacks the `engine` label.
    """

    name: str
    kind: str
    text: str
    label: str = ""
    values: tuple[str, ...] = ()
    engine: bool = True


@dataclass(frozen=True, slots=True)
class HistogramFamily:
    """One histogram family; buckets None stands for the 1-2-5 series up to `max_model_len`."""

    name: str
    text: str
    buckets: tuple[float, ...] | None


FAMILIES: tuple[Family, ...] = (
    Family("estimated_flops_per_gpu", "counter", "Estimated operations per GPU; always 0 here."),
    Family("estimated_read_bytes_per_gpu", "counter", "Estimated bytes read per GPU; always 0 here."),
    Family("estimated_write_bytes_per_gpu", "counter", "Estimated bytes written per GPU; always 0 here."),
    Family("num_requests_running", "gauge", "Requests in the running batch."),
    Family("num_requests_waiting", "gauge", "Requests in the queue."),
    Family("num_requests_waiting_by_reason", "gauge", "Requests in the queue.", "reason", ("capacity", "deferred")),
    Family(
        "engine_sleep_state",
        "gauge",
        "1 for the state that the engine is in; always awake here.",
        "sleep_state",
        ("awake", "weights_offloaded", "discard_all"),
    ),
    Family("kv_cache_usage_perc", "gauge", "Share of KV blocks held, 1 is all."),
    Family("prefix_cache_queries", "counter", "Prompt tokens looked up in the prefix cache."),
    Family("prefix_cache_hits", "counter", "Prompt tokens found there; always 0 here."),
    Family("external_prefix_cache_queries", "counter", "Tokens looked up in an external cache; always 0 here."),
    Family("external_prefix_cache_hits", "counter", "Tokens found there; always 0 here."),
    Family("mm_cache_queries", "counter", "Multi-modal items looked up; always 0 here."),
    Family("mm_cache_hits", "counter", "Multi-modal items found; always 0 here."),
    Family("num_preemptions", "counter", "Requests put back for lack of KV blocks."),
    Family("prompt_tokens", "counter", "Prompt tokens of requests that got their first token."),
    Family(
        "prompt_tokens_by_source",
        "counter",
        "Prompt tokens by source.",
        "source",
        ("local_compute", "local_cache_hit", "external_kv_transfer"),
    ),
    Family("prompt_tokens_cached", "counter", "Prompt tokens that were cached; always 0 here."),
    Family(
        "prompt_tokens_cached_by_source",
        "counter",
        "Cached prompt tokens by tier; always 0 here.",
        "source",
        ("device", "host", "p2p", "disk", "external_unspecified"),
    ),
    Family("generation_tokens", "counter", "Output tokens."),
    Family("request_success", "counter", "Finished requests.", "finished_reason", FINISH_REASONS),
    Family(
        "admission_rejections",
        "counter",
        "Requests refused by a queue limit; always 0 here.",
        "reason",
        ("max_num_queued_reqs", "max_num_queued_tokens"),
        engine=False,
    ),
)

SPECULATIVE_FAMILIES: tuple[Family, ...] = (
    Family("spec_decode_num_drafts", "counter", "Verifications that had a draft."),
    Family("spec_decode_num_draft_tokens", "counter", "Draft tokens verified."),
    Family("spec_decode_num_accepted_tokens", "counter", "Draft tokens kept."),
)

HISTOGRAMS: tuple[HistogramFamily, ...] = (
    HistogramFamily("request_prompt_tokens", "Prompt tokens per finished request.", None),
    HistogramFamily("request_generation_tokens", "Output tokens per finished request.", None),
    HistogramFamily("iteration_tokens_total", "Prompt and output tokens per engine step.", ITERATION_BUCKETS),
    HistogramFamily("request_max_num_generation_tokens", "Most output tokens of a request's outputs.", None),
    HistogramFamily("request_params_n", "Parameter n of a request.", PARAMETER_N_BUCKETS),
    HistogramFamily("request_params_max_tokens", "Parameter max_tokens of a request.", None),
    HistogramFamily("time_to_first_token_seconds", "Arrival to first token.", FIRST_TOKEN_BUCKETS),
    HistogramFamily("inter_token_latency_seconds", "Output to output, once per step.", INTER_TOKEN_BUCKETS),
    HistogramFamily(
        "request_time_per_output_token_seconds", "Mean time per token after the first.", INTER_TOKEN_BUCKETS
    ),
    HistogramFamily("e2e_request_latency_seconds", "Arrival to last token.", LATENCY_BUCKETS),
    HistogramFamily("request_queue_time_seconds", "Arrival to first scheduling.", LATENCY_BUCKETS),
    HistogramFamily("request_inference_time_seconds", "First scheduling to last token.", LATENCY_BUCKETS),
    HistogramFamily("request_prefill_time_seconds", "First scheduling to first token.", LATENCY_BUCKETS),
    HistogramFamily("request_decode_time_seconds", "First to last token.", LATENCY_BUCKETS),
    HistogramFamily("request_num_preemptions", "Preemptions per finished request.", PREEMPTION_BUCKETS),
    HistogramFamily("request_prefill_kv_computed_tokens", "Prompt tokens computed per request.", None),
)


def one_two_five(limit: int) -> tuple[float, ...]:
    """Buckets 1, 2, 5, 10, 20, 50 and so on, up to `limit`."""
    buckets: list[float] = []
    decade = 1
    while decade <= limit:
        buckets += [step * decade for step in (1, 2, 5) if step * decade <= limit]
        decade *= 10
    return tuple(float(bucket) for bucket in buckets)
