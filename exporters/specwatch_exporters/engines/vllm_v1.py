"""vLLM V1 (0.8.5 and newer): Python frontend, Rust frontend, Ray-prefixed, and behind Dynamo workers.

Sources: `vllm/v1/metrics/loggers.py` and `vllm/v1/spec_decode/metrics.py` of 0.8.5 to 0.33.0.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from specwatch_exporters import catalog
from specwatch_exporters.engines.intake import Dialect, Intake, strip_prefixes
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import UNKNOWN_MODEL, Declared, Page

PREFIXES = ("vllm:", "vllm_", "ray_vllm:", "ray_vllm_")
DEFINITION = "vllm-v1-counters"

DIALECT = Dialect(
    counters={
        "spec_decode_num_drafts": (catalog.DRAFTS, ""),
        "spec_decode_num_draft_tokens": (catalog.DRAFT_TOKENS, ""),
        "spec_decode_num_accepted_tokens": (catalog.ACCEPTED_TOKENS, ""),
        "spec_decode_num_accepted_tokens_per_pos": (catalog.ACCEPTED_PER_POSITION, "position"),
        # Not exported up to 0.33.0, but collected inside; patched builds have it.
        "spec_decode_num_draft_tokens_per_pos": (catalog.DRAFTED_PER_POSITION, "position"),
        "generation_tokens": (catalog.GENERATION_TOKENS, ""),
        "prompt_tokens": (catalog.PROMPT_TOKENS, ""),
        "request_success": (catalog.REQUESTS, "finished_reason"),
        "admission_rejections": (catalog.REJECTED, "reason"),
        "num_preemptions": (catalog.PREEMPTIONS, ""),
        # A histogram in spite of its name; its count is the number of engine steps.
        "iteration_tokens_total_count": (catalog.ENGINE_STEPS, ""),
    },
    gauges={
        "num_requests_running": (catalog.RUNNING, ""),
        "num_requests_waiting": (catalog.WAITING, ""),
        "num_requests_waiting_by_reason": (catalog.WAITING_BY_REASON, "reason"),
        "kv_cache_usage_perc": (catalog.KV_USAGE, ""),
        "gpu_cache_usage_perc": (catalog.KV_USAGE, ""),
    },
    histograms={
        "request_queue_time_seconds": catalog.QUEUE_WAIT,
        "time_to_first_token_seconds": catalog.TTFT,
        "e2e_request_latency_seconds": catalog.E2E,
        "inter_token_latency_seconds": catalog.ITL_STEP,
        "time_per_output_token_seconds": catalog.ITL_STEP,
        "request_time_per_output_token_seconds": catalog.TPOT,
    },
    facts={
        "prefix_cache_queries": "prefix_cache_queries",
        "prefix_cache_hits": "prefix_cache_hits",
        "gpu_prefix_cache_queries": "prefix_cache_queries",
        "gpu_prefix_cache_hits": "prefix_cache_hits",
        "gpu_prefix_cache_hit_rate": "prefix_cache_hit_rate",
    },
    legacy=frozenset({"gpu_cache_usage_perc", "time_per_output_token_seconds"}),
    # 0.9.2 to 0.11.0 exported the KV gauge once per API-server process; counters were already summed.
    copy_labels=frozenset({"pid"}),
    copied_gauges_only=True,
)
TARGETS = DIALECT.targets()
# Families that only the Python frontend has, on every page; without one of them a page is partial.
WHOLE_PAGE = frozenset({"cache_config_info", "engine_sleep_state"})


class VllmV1Reader:
    """Reads vLLM V1 pages in all their spellings."""

    engine = "vllm"

    def recognises(self, names: AbstractSet[str]) -> bool:
        """True if any name has a vLLM prefix (V0 is asked first)."""
        return any(name.startswith(PREFIXES) for name in names)

    def read(self, exposition: Exposition, names: AbstractSet[str]) -> Page:
        """Read the page; counters are summed over engines later, gauges drop per-process copies."""
        stripped = strip_prefixes(names, PREFIXES)
        raw = frozenset(stripped.values())
        whole = bool(WHOLE_PAGE & raw)
        page = Page("vllm", _dialect(exposition, names, whole), DEFINITION)
        Intake(page, DIALECT, TARGETS).take(exposition.families, stripped)
        page.start_marker = start_marker(exposition)
        settle_prefix_cache(page)
        _count_positions(page)
        for model in page.models():
            page.declared[model] = _declared(page, model, raw, whole=whole)
        _note_oddities(page, names)
        return page


def start_marker(exposition: Exposition) -> float | None:
    """Start of the engine in epoch seconds, or None.

    The process's start, or the earliest `_created` of a vLLM counter. A multiprocess page has neither.
    """
    created: float | None = None
    for family in exposition.families:
        for sample in family.samples:
            if sample.name == "process_start_time_seconds":
                return float(sample.value)
            if sample.name.endswith("_created") and sample.name.startswith(PREFIXES):
                created = sample.value if created is None else min(created, sample.value)
    return created


def settle_prefix_cache(page: Page) -> None:
    """Give each model a prefix-cache hit rate, or None: -1 and 0/0 are unknown, not percentages."""
    for facts in page.facts.values():
        queries, hits = facts.pop("prefix_cache_queries", None), facts.pop("prefix_cache_hits", None)
        gauge = facts.get("prefix_cache_hit_rate")
        if queries and hits is not None:
            facts["prefix_cache_hit_rate"] = hits / queries
        elif gauge is None or not 0.0 <= gauge <= 1.0:
            facts["prefix_cache_hit_rate"] = None


def _dialect(exposition: Exposition, names: AbstractSet[str], whole: bool) -> str:
    if any(name.startswith("ray_vllm") for name in names):
        return "v1-ray"
    if any(name.startswith("dynamo_") for name in names):
        return "v1-dynamo"
    return "v1-rust" if exposition.openmetrics and not whole else "v1"


def _count_positions(page: Page) -> None:
    for series in page.counters:
        if series.metric == catalog.ACCEPTED_PER_POSITION.name and series.extra.isdigit():
            seen = page.speculative_tokens.get(series.model, 0)
            page.speculative_tokens[series.model] = max(seen, int(series.extra) + 1)


def _declared(page: Page, model: str, raw: AbstractSet[str], *, whole: bool) -> Declared:
    """Configured if there are series; without them off on a whole Python page, else unknown.

    The Python frontend registers speculative series only with `--speculative-config`, and then from start-up.
    The Rust frontend exports the totals as zeros in any case and the positions once something was drafted.
    """
    own = [s for s in page.counters if s.model == model and s.metric == catalog.DRAFTS.name]
    if page.dialect == "v1-rust" and not any(page.counters[series] for series in own):
        return Declared.UNKNOWN
    if own or any(name.startswith("spec_decode_") for name in raw):
        return Declared.CONFIGURED
    return Declared.OFF if whole else Declared.UNKNOWN


def _note_oddities(page: Page, names: AbstractSet[str]) -> None:
    if any(name.startswith(("vllm_", "ray_vllm")) for name in names):
        example = min(name for name in names if name.startswith(("vllm_", "ray_vllm")))
        page.note(
            "renamed_metric", f"Names are rewritten (for example {example}); read as vLLM's own `vllm:` names."
        )
    if UNKNOWN_MODEL in page.models():
        page.note("label_clash", "Series carry no model_name label; the model is called 'unknown'.")
