"""TensorRT-LLM's `/prometheus/metrics`.

Sources: `tensorrt_llm/metrics` on main (1.3.0rc and newer) for speculation, pull request 5785 for the un-prefixed
names of 1.0 and 1.1. Gauges carry a `pid` because the registry is a multiprocess one.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from specwatch_exporters import catalog
from specwatch_exporters.engines.intake import Dialect, Intake, model_name, strip_prefixes
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import Declared, Page, Reported

PREFIX = "trtllm_"
DEFINITION = "trtllm-iteration-counters"

DIALECT = Dialect(
    counters={
        "spec_decode_num_draft_tokens": (catalog.DRAFT_TOKENS, ""),
        "spec_decode_num_accepted_tokens": (catalog.ACCEPTED_TOKENS, ""),
        "spec_decode_drafted_tokens": (catalog.DRAFTED_PER_POSITION, "token_position"),
        "spec_decode_accepted_tokens": (catalog.ACCEPTED_PER_POSITION, "token_position"),
        "generation_tokens": (catalog.GENERATION_TOKENS, ""),
        "prompt_tokens": (catalog.PROMPT_TOKENS, ""),
        "request_success": (catalog.REQUESTS, "finished_reason"),
        "request_error": (catalog.REQUESTS, "=error"),
    },
    gauges={
        "num_requests_running": (catalog.RUNNING, ""),
        "num_requests_waiting": (catalog.WAITING, ""),
        "kv_cache_utilization": (catalog.KV_USAGE, ""),
    },
    histograms={
        "request_queue_time_seconds": catalog.QUEUE_WAIT,
        "time_to_first_token_seconds": catalog.TTFT,
        "e2e_request_latency_seconds": catalog.E2E,
        "time_per_output_token_seconds": catalog.TPOT,
    },
    readings=frozenset({"spec_decode_acceptance_length"}),
    copy_labels=frozenset({"pid"}),
    own_labels=frozenset({"engine_type", "finish_reason", "http_code"}),
)
TARGETS = DIALECT.targets()
_SPECULATIVE = frozenset({catalog.DRAFT_TOKENS.name, catalog.ACCEPTED_PER_POSITION.name})
# The first version had no prefix; two of its five names together are no other engine's.
UNPREFIXED = frozenset(
    {
        "e2e_request_latency_seconds_count",
        "request_queue_time_seconds_count",
        "request_success_total",
        "time_per_output_token_seconds_count",
        "time_to_first_token_seconds_count",
    }
)


class TrtllmReader:
    """Reads TensorRT-LLM's Prometheus page."""

    engine = "trtllm"

    def recognises(self, names: AbstractSet[str]) -> bool:
        """True for `trtllm_` names, or two of the first version's un-prefixed ones."""
        return any(name.startswith(PREFIX) for name in names) or len(names & UNPREFIXED) > 1

    def read(self, exposition: Exposition, names: AbstractSet[str]) -> Page:
        """Read the page; positions are counted over finished requests, totals over iterations."""
        prefixed = any(name.startswith(PREFIX) for name in names)
        page = Page("trtllm", "prometheus" if prefixed else "prometheus-unprefixed", DEFINITION)
        stripped = strip_prefixes(names, (PREFIX,)) if prefixed else {name: name for name in names}
        intake = Intake(page, DIALECT, TARGETS)
        intake.take(exposition.families, stripped)
        if not prefixed:
            page.note("renamed_metric", "Names have no trtllm_ prefix (1.0/1.1); read under their present meaning.")
        for model in page.models():
            page.declared[model] = Declared.UNKNOWN
        for series in page.counters:
            if series.metric in _SPECULATIVE:
                page.declared[series.model] = Declared.CONFIGURED
                page.speculative.add(series.model)
        _read_config(page, exposition)
        _read_last_iteration(page, intake)
        if any(series.metric == catalog.ACCEPTED_PER_POSITION.name for series in page.counters):
            page.note(
                "two_populations",
                "Positions and length are counted over finished requests, totals over iterations; "
                "each ratio uses one of them, never both.",
            )
        return page


def _read_config(page: Page, exposition: Exposition) -> None:
    """Take method and K from `trtllm_speculative_config_info`, registered at start-up."""
    for family in exposition.families:
        for sample in family.samples:
            if not sample.name.endswith("speculative_config_info"):
                continue
            model = model_name(sample.labels, DIALECT.model_labels)
            enabled = sample.labels.get("spec_enabled", "").lower() == "true"
            page.declared[model] = Declared.CONFIGURED if enabled else Declared.OFF
            page.speculative.add(model)
            depth = sample.labels.get("spec_num_tokens", "")
            if enabled and depth.isdigit():
                page.speculative_tokens[model] = int(depth)
            if enabled and sample.labels.get("spec_method"):
                page.methods[model] = sample.labels["spec_method"].lower()


def _read_last_iteration(page: Page, intake: Intake) -> None:
    """Fall back to the acceptance-length gauge where counters do not exist; it is one iteration's."""
    for (model, _), readings in intake.readings.items():
        length = readings.get("spec_decode_acceptance_length")
        if length is None or length < 1.0 or model in page.speculative:
            continue
        page.reported[model] = Reported(length=length)
        page.declared[model] = Declared.CONFIGURED
        page.speculative.add(model)
        page.note("gauge_only", "The acceptance length is a gauge of the last iteration only; it is noisy.")
