"""vLLM V1 (0.8.5 and newer): Python frontend, Rust frontend, Ray-prefixed, and behind Dynamo workers.

Sources: `vllm/v1/metrics/loggers.py` and `vllm/v1/spec_decode/metrics.py` of 0.8.5 to 0.33.0.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from specwatch_exporters import catalog
from specwatch_exporters.engines.intake import Dialect, Intake, Target, instance_name, strip_prefixes
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import UNKNOWN_MODEL, Declared, Page
from specwatch_exporters.request_catalog import INTER_CHUNK
from specwatch_exporters.request_labels import UNKNOWN
from specwatch_exporters.step_catalog import STEP_BATCH

PREFIXES = ("vllm:", "vllm_", "ray_vllm:", "ray_vllm_")
DEFINITION = "vllm-v1-counters"
PREFIX_QUERIES, PREFIX_HITS = "prefix_cache_queries", "prefix_cache_hits"

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
    own_counters={
        "prefix_cache_queries": PREFIX_QUERIES,
        "prefix_cache_hits": PREFIX_HITS,
        "gpu_prefix_cache_queries": PREFIX_QUERIES,
        "gpu_prefix_cache_hits": PREFIX_HITS,
    },
    facts={"gpu_prefix_cache_hit_rate": "prefix_cache_hit_rate"},
    legacy=frozenset({"gpu_cache_usage_perc", "time_per_output_token_seconds"}),
    # 0.9.2 to 0.11.0 exported the KV gauge once per API-server process; counters were already summed.
    copy_labels=frozenset({"pid"}),
    copied_gauges_only=True,
    # Of the plugin's series, and of finished requests where the scheduler has priorities (vllm-project/vllm#58078).
    own_labels=frozenset({"traffic_class", "batch", "speculation", "priority"}),
    gauge_counters=True,
)
# What specwatch's own plugin puts on the engine's page and nothing else tells: steps by batch size.
PLUGIN = {
    f"{STEP_BATCH.name}_bucket": Target(f"{STEP_BATCH.name}_bucket", "counter", "le"),
    **{f"{STEP_BATCH.name}{part}": Target(f"{STEP_BATCH.name}{part}", "counter") for part in ("_sum", "_count")},
    **{
        f"{INTER_CHUNK.name}{part}": Target(f"{INTER_CHUNK.name}{part}", "counter", "batch")
        for part in ("_sum", "_count")
    },
}
TARGETS = DIALECT.targets() | PLUGIN
# Families that only the Python frontend has, on every page: with none of them a page is partial or the Rust one's.
PYTHON_ONLY = frozenset({"cache_config_info", "engine_sleep_state"})
# Families of every page. An excerpt about the cache has the above, and says nothing about what it leaves out.
EVERY_PAGE = (
    frozenset({"generation_tokens", "generation_tokens_total"}),
    frozenset({"request_success", "request_success_total"}),
    frozenset({"num_requests_running"}),
)
# Of the Python frontend alone as long as nothing was drafted.
_PYTHON_SPECULATION = ("spec_decode_num_accepted_tokens_per_pos", "spec_decode_num_drafts_created")


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
        whole = bool(PYTHON_ONLY & raw) and all(names & raw for names in EVERY_PAGE)
        page = Page("vllm", _dialect(exposition, names, whole), DEFINITION)
        own = {name: name for name in names if name in PLUGIN}
        Intake(page, DIALECT, TARGETS).take(exposition.families, stripped | own)
        page.starts = process_starts(exposition, DIALECT)
        settle_hit_rate(page)
        drafts = _drafts(page)
        _count_positions(page, drafts)
        speculative = any(name.startswith("spec_decode_") for name in raw)
        python = whole or any(name.startswith(_PYTHON_SPECULATION) for name in raw)
        for model in page.models():
            counted = drafts.get(model)
            page.declared[model] = _declared(counted, speculative=speculative, python=python, whole=whole)
            if speculative:
                page.speculative.add(model)
        page.methods = _methods(exposition, page.speculative)
        _note_oddities(page, exposition, names)
        return page


def process_starts(exposition: Exposition, dialect: Dialect) -> dict[str, float]:
    """Start of each instance's process in epoch seconds; empty for a multiprocess page, which has no such series.

    From `process_start_time_seconds`, or else the earliest `_created` of a vLLM series.
    """
    known = dialect.known_labels()
    starts: dict[str, float] = {}
    created: dict[str, float] = {}
    for family in exposition.families:
        for sample in family.samples:
            if sample.name == "process_start_time_seconds":
                starts[instance_name(sample.labels, known)] = float(sample.value)
            elif sample.name.endswith("_created") and sample.name.startswith(PREFIXES):
                instance = instance_name(sample.labels, known)
                created[instance] = min(float(sample.value), created.get(instance, float(sample.value)))
    return {**created, **starts}


def settle_hit_rate(page: Page) -> None:
    """A prefix-cache hit rate gauge of -1 is unknown, not a percentage (V0 before the first lookup)."""
    for facts in page.facts.values():
        rate = facts.get("prefix_cache_hit_rate")
        if rate is not None and not 0.0 <= rate <= 1.0:
            facts["prefix_cache_hit_rate"] = None


def _dialect(exposition: Exposition, names: AbstractSet[str], whole: bool) -> str:
    if any(name.startswith("ray_vllm") for name in names):
        return "v1-ray"
    if any(name.startswith("dynamo_") for name in names):
        return "v1-dynamo"
    return "v1-rust" if exposition.openmetrics and not whole else "v1"


def _drafts(page: Page) -> dict[str, tuple[float, float]]:
    """Per model with speculative totals: drafts and draft tokens so far."""
    found: dict[str, tuple[float, float]] = {}
    for series, value in page.counters.items():
        drafts, tokens = found.get(series.model, (0.0, 0.0))
        if series.metric == catalog.DRAFTS.name:
            found[series.model] = (drafts + value, tokens)
        elif series.metric == catalog.DRAFT_TOKENS.name:
            found[series.model] = (drafts, tokens + value)
    return found


def _count_positions(page: Page, drafts: dict[str, tuple[float, float]]) -> None:
    """K is the number of positions, unless the drafts had more tokens (the Rust frontend adds positions late)."""
    depths: dict[str, int] = {}
    for series in page.counters:
        if (
            series.metric == catalog.ACCEPTED_PER_POSITION.name
            and series.extra.isascii()
            and series.extra.isdecimal()
        ):
            depths[series.model] = max(depths.get(series.model, 0), int(series.extra) + 1)
    for model, depth in depths.items():
        steps, tokens = drafts.get(model, (0.0, 0.0))
        if tokens <= depth * steps or not steps:
            page.speculative_tokens[model] = depth


def _declared(drafts: tuple[float, float] | None, *, speculative: bool, python: bool, whole: bool) -> Declared:
    """Configured if there are series; without them off on a whole Python page, else unknown.

    The Python frontend registers speculative series only with `--speculative-config`, and then from start-up. The
    Rust frontend, whose pages are never whole, exports the totals as zeros in any case, and positions once drafted.
    """
    if speculative and (python or drafts is None or any(drafts)):
        return Declared.CONFIGURED
    if speculative:
        return Declared.UNKNOWN
    return Declared.OFF if whole else Declared.UNKNOWN


def _methods(exposition: Exposition, speculative: AbstractSet[str]) -> dict[str, str]:
    """Per model that speculates, the method that specwatch's plugin names; vLLM's own series name none."""
    return {
        sample.labels["model"]: sample.labels["method"]
        for family in exposition.families
        if family.name == catalog.SPECULATION_INFO.name
        for sample in family.samples
        if sample.labels.get("model") in speculative and sample.labels.get("method", UNKNOWN) != UNKNOWN
    }


def _note_oddities(page: Page, exposition: Exposition, names: AbstractSet[str]) -> None:
    rewritten = [name for name in names if name.startswith(("vllm_", "ray_vllm"))]
    if rewritten:
        page.note(
            "renamed_metric", f"Names are rewritten (such as {min(rewritten)}); read as vLLM's `vllm:` names."
        )
    if UNKNOWN_MODEL not in page.models():
        return
    router = any("server" in sample.labels for family in exposition.families for sample in family.samples)
    if router and not page.counters:
        page.note("frontend_only", "These are a router's copies of its engines' gauges; scrape the engines.")
    else:
        page.note("label_clash", "Series carry no model_name label; the model is called 'unknown'.")
