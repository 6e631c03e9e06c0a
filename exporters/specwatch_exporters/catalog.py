"""The catalogue: every metric that specwatch exports, and nothing else.

Exporter, rules, dashboards, scalers, doctor and README read these rows. Names follow Prometheus conventions:
`specwatch_<noun>_<unit>[_total]`, base units, one help text that carries the definition. The rows of the request
sidecar, the vLLM plugin and the detectors stand in `*_catalog.py`; `CATALOG` holds all.
"""

from __future__ import annotations

from typing import Final

from specwatch_exporters.drift_catalog import DRIFT_CATALOG
from specwatch_exporters.fallback_catalog import FALLBACK_CATALOG
from specwatch_exporters.metric import Kind, Metric, Source
from specwatch_exporters.payoff_catalog import PAYOFF_CATALOG
from specwatch_exporters.pool_catalog import POOL_CATALOG
from specwatch_exporters.request_catalog import REQUEST_CATALOG
from specwatch_exporters.slack_catalog import SLACK_CATALOG
from specwatch_exporters.step_catalog import STEP_CATALOG

__all__ = ["BY_NAME", "CATALOG", "Kind", "Metric", "Source"]

_ENGINE: Final = ("model", "engine")
_SPEC: Final = ("model", "engine", "definition")
_MODEL_DEFINITION: Final = ("model", "definition")


_STEPS: Final = Source.SCRAPE | Source.PLUGIN
_ALL_SIDES: Final = Source.SCRAPE | Source.REQUEST | Source.PLUGIN


def _counter(name: str, labels: tuple[str, ...], text: str, source: Source = Source.SCRAPE) -> Metric:
    return Metric(name, Kind.COUNTER, labels, text, source)


def _gauge(name: str, labels: tuple[str, ...], text: str, source: Source = Source.SCRAPE) -> Metric:
    return Metric(name, Kind.GAUGE, labels, text, source)


def _histogram(name: str, text: str) -> Metric:
    return Metric(name, Kind.HISTOGRAM, _ENGINE, f"{text} Buckets are the engine's own.")


# Speculation: raw counts. Every ratio is derived from these.
DRAFTS: Final = _counter(
    "specwatch_drafts_total", _SPEC, "Draft steps: verifications that had at least one draft token.", _STEPS
)
DRAFT_TOKENS: Final = _counter(
    "specwatch_draft_tokens_total", _SPEC, "Draft tokens proposed to the target for verification.", _STEPS
)
ACCEPTED_TOKENS: Final = _counter(
    "specwatch_accepted_tokens_total",
    _SPEC,
    "Draft tokens kept, bonus token excluded. Acceptance rate = accepted / draft tokens; "
    "mean acceptance length = 1 + accepted / drafts.",
    _STEPS,
)
ACCEPTED_PER_POSITION: Final = _counter(
    "specwatch_accepted_tokens_per_position_total",
    (*_SPEC, "position"),
    "Draft steps whose accepted prefix reached this position (0 is first). "
    "Divided by drafts: the unconditional acceptance of the position.",
    _STEPS,
)
DRAFTED_PER_POSITION: Final = _counter(
    "specwatch_draft_tokens_per_position_total",
    (*_SPEC, "position"),
    "Draft tokens proposed at this position, where the engine tells: the true denominator when the "
    "number of draft tokens varies.",
    _STEPS,
)

# Traffic.
GENERATION_TOKENS: Final = _counter(
    "specwatch_generation_tokens_total", _ENGINE, "Output tokens that the engine counted."
)
PROMPT_TOKENS: Final = _counter("specwatch_prompt_tokens_total", _ENGINE, "Prompt tokens that the engine counted.")
REQUESTS: Final = _counter(
    "specwatch_requests_total",
    (*_ENGINE, "outcome"),
    "Finished requests by outcome in the engine's own words; abort and error are not successes.",
)
REJECTED: Final = _counter(
    "specwatch_requests_rejected_total",
    (*_ENGINE, "reason"),
    "Requests that the engine refused to queue, by its own reason.",
)
PREEMPTIONS: Final = _counter(
    "specwatch_preemptions_total", _ENGINE, "Requests preempted (retracted) because the KV cache was full."
)
ENGINE_STEPS: Final = _counter(
    "specwatch_engine_steps_total", _ENGINE, "Scheduler iterations of the engine, where it counts them."
)

# Load now.
RUNNING: Final = _gauge("specwatch_requests_running", _ENGINE, "Requests in the running batch.")
WAITING: Final = _gauge("specwatch_requests_waiting", _ENGINE, "Requests queued in the engine, all reasons.")
WAITING_BY_REASON: Final = _gauge(
    "specwatch_requests_waiting_by_reason",
    (*_ENGINE, "reason"),
    "Requests queued in the engine by reason; capacity is the one to scale on.",
)
KV_USAGE: Final = _gauge(
    "specwatch_kv_cache_usage_ratio", _ENGINE, "Share of the KV cache in use, 0 to 1. Never sum it."
)

# Speculation: state and windowed figures.
STATE: Final = _gauge(
    "specwatch_speculation_state",
    ("model", "state"),
    "1 for the state that holds, 0 for the others. active: drafts are verified; off: tokens are generated "
    "without drafts; idle: nothing is generated; unknown: the engine does not say; stale: no fresh page.",
)
SPECULATION_INFO: Final = _gauge(
    "specwatch_speculation_info",
    ("model", "method", "definition"),
    "1; method as configured or as the engine reports it, definition of the acceptance counts.",
    _STEPS,
)
NUM_SPECULATIVE_TOKENS: Final = _gauge(
    "specwatch_num_speculative_tokens",
    ("model",),
    "Draft tokens per step (K) as configured, reported, or inferred from the positions on the page.",
    _STEPS,
)
ADAPTS: Final = _gauge(
    "specwatch_speculation_adapts_info",
    ("model", "what"),
    "1; what the engine is configured to change by itself: K by batch, adaptive verification (vLLM, known to the "
    "plugin), adaptive K (SGLang). No sample where it is not, or nobody can tell.",
    _STEPS,
)
ACCEPTANCE_RATIO: Final = _gauge(
    "specwatch_acceptance_ratio",
    _MODEL_DEFINITION,
    "Accepted / draft tokens over the last minute. Absent when nothing was drafted: 0/0 is unknown.",
)
ACCEPTANCE_LENGTH: Final = _gauge(
    "specwatch_acceptance_length_tokens",
    _MODEL_DEFINITION,
    "Mean acceptance length over the last minute, bonus token included: 1 + accepted / drafts.",
)
TOKENS_PER_STEP: Final = _gauge(
    "specwatch_tokens_per_step",
    ("model",),
    "Output tokens per request and engine step over the last minute, steps without a draft included.",
)
TOKEN_LATENCY: Final = _gauge(
    "specwatch_token_latency_seconds",
    ("model",),
    "Mean time per output token after the first over the last minute, corrected for multi-token steps.",
)
SPECULATING_RATIO: Final = _gauge(
    "specwatch_speculating_steps_ratio",
    ("model",),
    "Share of request steps over the last minute that verified a draft.",
)

# Latency, carried over from the engine.
QUEUE_WAIT: Final = _histogram(
    "specwatch_engine_queue_wait_seconds",
    "Time from queued to first scheduled, observed by the engine when the request FINISHES.",
)
TTFT: Final = _histogram(
    "specwatch_engine_time_to_first_token_seconds", "Time to first token, as the engine measures it."
)
E2E: Final = _histogram(
    "specwatch_engine_e2e_latency_seconds", "Arrival to last token, observed when the request finishes."
)
ITL_STEP: Final = _histogram(
    "specwatch_engine_inter_token_step_seconds",
    "Time between output events, one sample per STEP: with speculation a step carries several tokens.",
)
ITL_TOKEN: Final = _histogram(
    "specwatch_engine_inter_token_seconds", "Time between tokens, a step's time shared among its tokens."
)
TPOT: Final = _histogram(
    "specwatch_engine_time_per_output_token_seconds", "Mean time per output token, one sample per request."
)

# The engine and the scrape itself.
ENGINE_INFO: Final = _gauge(
    "specwatch_engine_info",
    ("kind", "dialect", "version"),
    "1; engine kind, dialect of its page, and version where an endpoint tells it.",
)
ENGINE_RESTARTS: Final = _counter(
    "specwatch_engine_restarts_total", (), "Times the engine's counters started again; totals carry on."
)
SCRAPE_SUCCESS: Final = _gauge(
    "specwatch_scrape_success", (), "1 if the last scrape of the engine gave a page that was understood."
)
SCRAPE_DURATION: Final = _gauge(
    "specwatch_scrape_duration_seconds", (), "Wall time of the last scrape: fetch, parse and bookkeeping."
)
SCRAPE_AGE: Final = _gauge(
    "specwatch_scrape_age_seconds",
    (),
    "Seconds since the last successful scrape (since start, if there was none). Over the staleness limit "
    "the engine's series are withdrawn.",
)
SCRAPES: Final = _counter(
    "specwatch_scrapes_total",
    ("outcome",),
    "Scrapes of the engine by outcome: success or the failure's cause.",
)
SCRAPE_WARNINGS: Final = _gauge(
    "specwatch_scrape_warnings", ("code",), "1 for each warning that the last page raised."
)
PAGE_BYTES: Final = _gauge(
    "specwatch_scrape_page_bytes", (), "Size of the last page after decompression, in bytes."
)
BUILD_INFO: Final = _gauge("specwatch_build_info", ("version",), "1; version of specwatch.", _ALL_SIDES)

CATALOG: Final[tuple[Metric, ...]] = (
    DRAFTS,
    DRAFT_TOKENS,
    ACCEPTED_TOKENS,
    ACCEPTED_PER_POSITION,
    DRAFTED_PER_POSITION,
    ACCEPTANCE_RATIO,
    ACCEPTANCE_LENGTH,
    STATE,
    SPECULATION_INFO,
    NUM_SPECULATIVE_TOKENS,
    ADAPTS,
    SPECULATING_RATIO,
    TOKENS_PER_STEP,
    TOKEN_LATENCY,
    GENERATION_TOKENS,
    PROMPT_TOKENS,
    REQUESTS,
    REJECTED,
    PREEMPTIONS,
    ENGINE_STEPS,
    RUNNING,
    WAITING,
    WAITING_BY_REASON,
    KV_USAGE,
    QUEUE_WAIT,
    TTFT,
    E2E,
    ITL_STEP,
    ITL_TOKEN,
    TPOT,
    ENGINE_INFO,
    ENGINE_RESTARTS,
    SCRAPE_SUCCESS,
    SCRAPE_DURATION,
    SCRAPE_AGE,
    SCRAPES,
    SCRAPE_WARNINGS,
    PAGE_BYTES,
    BUILD_INFO,
    *REQUEST_CATALOG,
    *POOL_CATALOG,
    *STEP_CATALOG,
    *DRIFT_CATALOG,
    *PAYOFF_CATALOG,
    *FALLBACK_CATALOG,
    *SLACK_CATALOG,
)

BY_NAME: Final[dict[str, Metric]] = {metric.name: metric for metric in CATALOG}
