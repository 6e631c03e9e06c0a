"""SGLang 0.4 to 0.5: gauges, and since 0.5.13 a counter of verify calls.

Source: `sglang/srt/observability/metrics_collector.py` (0.4.3 to 0.5.23). SGLang exports neither draft nor accepted
tokens. From 0.5.13 they follow from counters: every verify call of a request yields its accepted tokens and one
more, so accepted = generated - verify calls. The first token of a request comes from the prefill and tokens behind
the end are cut; both are one token a request or less, and the definition's name says that it is derived.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from specwatch_exporters import catalog
from specwatch_exporters.engines.intake import Dialect, Intake, strip_prefixes
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import UNKNOWN_MODEL, Declared, Key, Page, Reported
from specwatch_exporters.sglang_rate import interpret

PREFIXES = ("sglang:", "sglang_")
COUNTER_DEFINITION = "sglang-tokens-per-verify"
GAUGE_DEFINITION = "sglang-gauge"

# Not exported: draft steps follow from it, as long as the engine drafts at all.
VERIFY_CALLS = catalog.Metric("sglang_verify_calls", catalog.Kind.COUNTER, (), "Verify forwards of the target.")

DIALECT = Dialect(
    counters={
        "spec_verify_calls": (VERIFY_CALLS, ""),
        "generation_tokens": (catalog.GENERATION_TOKENS, ""),
        "prompt_tokens": (catalog.PROMPT_TOKENS, ""),
        "num_requests": (catalog.REQUESTS, "=finished"),
        "num_aborted_requests": (catalog.REQUESTS, "=aborted"),
        "num_retracted_requests": (catalog.PREEMPTIONS, ""),
    },
    gauges={
        "num_running_reqs": (catalog.RUNNING, ""),
        "num_queue_reqs": (catalog.WAITING, ""),
        "token_usage": (catalog.KV_USAGE, ""),
    },
    histograms={
        "queue_time_seconds": catalog.QUEUE_WAIT,
        "queue_time_s": catalog.QUEUE_WAIT,
        "time_to_first_token_seconds": catalog.TTFT,
        "e2e_request_latency_seconds": catalog.E2E,
        "inter_token_latency_seconds": catalog.ITL_TOKEN,
        "time_per_output_token_seconds": catalog.ITL_TOKEN,
        "request_time_per_output_token_seconds": catalog.TPOT,
    },
    legacy=frozenset({"queue_time_s", "time_per_output_token_seconds"}),
    engine_labels=("dp_rank",),
    # Every rank of one data-parallel replica reports the same scheduler.
    copy_labels=frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"}),
)
TARGETS = DIALECT.targets()
# First seen in 0.5.11 or later, when the rate became accepted / proposed; before, it included the bonus token.
STRICT_MARKERS = frozenset({"spec_num_steps", "spec_verify_calls_total", "kv_available_tokens", "num_pages"})
_GAUGES = ("spec_accept_length", "spec_accept_rate", "spec_num_steps", "spec_num_draft_tokens")


class SglangReader:
    """Reads SGLang pages, either spelling of the names."""

    engine = "sglang"

    def recognises(self, names: AbstractSet[str]) -> bool:
        """True if any name has an SGLang prefix."""
        return any(name.startswith(PREFIXES) for name in names)

    def read(self, exposition: Exposition, names: AbstractSet[str]) -> Page:
        """Read the page: copies by rank are dropped, counters preferred over gauges."""
        stripped = strip_prefixes(names, PREFIXES)
        raw = frozenset(stripped.values())
        page = Page("sglang", "metrics", COUNTER_DEFINITION)
        families = exposition.families
        Intake(page, DIALECT, TARGETS).take(families, stripped)
        _drop_draft_copies(page, exposition)
        gauges = _speculative_gauges(exposition, stripped)
        for model in sorted({*page.models(), *gauges}):
            _settle_model(page, model, gauges.get(model, {}), strict=not STRICT_MARKERS.isdisjoint(raw))
        if any(series.metric == VERIFY_CALLS.name for series in page.counters):
            page.derive = _Derivation(page, gauges)
        else:
            page.definition = GAUGE_DEFINITION
        if any(name.startswith("sglang_") for name in names):
            page.note(
                "renamed_metric", "Names are spelled sglang_ instead of sglang:; read under their own meaning."
            )
        return page


def _speculative_gauges(exposition: Exposition, stripped: dict[str, str]) -> dict[str, dict[str, float]]:
    """Per model, the four speculative gauges; ranks are copies, so the largest stands for all."""
    found: dict[str, dict[str, float]] = {}
    for family in exposition.families:
        for sample in family.samples:
            raw = stripped.get(sample.name, "")
            if raw in _GAUGES and sample.labels.get("engine_type") != "draft":
                model = sample.labels.get("model_name") or UNKNOWN_MODEL
                gauges = found.setdefault(model, {})
                gauges[raw] = max(float(sample.value), gauges.get(raw, float(sample.value)))
    return found


def _drop_draft_copies(page: Page, exposition: Exposition) -> None:
    drafts = {
        sample.labels.get("model_name") or UNKNOWN_MODEL
        for family in exposition.families
        for sample in family.samples
        if sample.labels.get("engine_type") == "draft"
    }
    served = {
        sample.labels.get("model_name") or UNKNOWN_MODEL
        for family in exposition.families
        for sample in family.samples
        if sample.labels.get("engine_type", "unified") != "draft" and sample.name.startswith(PREFIXES)
    }
    if not drafts:
        return
    page.note("draft_copy", "Series with engine_type=draft repeat the target's verification; they were left out.")
    page.counters = {s: v for s, v in page.counters.items() if not _is_draft(s.source)}
    page.gauges = {k: v for k, v in page.gauges.items() if k.model in served}


def _is_draft(source: str) -> bool:
    return "engine_type=draft" in source.split(",")


def _settle_model(page: Page, model: str, gauges: dict[str, float], *, strict: bool) -> None:
    """Fill in what is declared, K, and the gauge-only acceptance of one model."""
    length, rate = gauges.get("spec_accept_length"), gauges.get("spec_accept_rate")
    steps, width = gauges.get("spec_num_steps"), gauges.get("spec_num_draft_tokens")
    verified = sum(v for s, v in page.counters.items() if s.model == model and s.metric == VERIFY_CALLS.name)
    page.declared[model] = _declared(length, rate, steps, verified)
    if steps:
        page.speculative_tokens[model] = int(steps)
    if steps == 0 and (verified or length):
        page.note("not_drafting", "spec_num_steps is 0: the adaptive tier switched drafting off; not a collapse.")
    if verified or page.declared[model] is not Declared.CONFIGURED:
        return
    depth = int(width) if width else None
    reading = interpret(rate, length, rounding=0.0, draft_tokens=depth, strict=strict or None)
    page.reported[model] = Reported(reading.rate, reading.length)
    if reading.speculative_tokens and model not in page.speculative_tokens:
        page.speculative_tokens[model] = reading.speculative_tokens
    for notice in reading.notices:
        page.note(notice.code, notice.message)
    page.note("gauge_only", "Acceptance is a gauge over the last decode interval; there are no counters to window.")
    if page.gauges.get(Key(catalog.RUNNING.name, model, "0", "")) == 0:
        page.note("stale_gauge", "Nothing is running, and SGLang keeps the last interval's acceptance when idle.")


def _declared(length: float | None, rate: float | None, steps: float | None, verified: float) -> Declared:
    """SGLang exports zeros when speculation is off, and before it was first used."""
    if steps or verified or length or rate:
        return Declared.CONFIGURED
    if length is None and rate is None:
        return Declared.UNKNOWN
    return Declared.OFF


class _Derivation:
    """Draft steps, draft tokens and accepted tokens from verify calls and generated tokens.

    Draft steps = verify calls, but for the adaptive tier 0, whose one-node verifies have no draft. Draft tokens =
    draft steps * K with the K that holds while they are counted; exact for chains (topk = 1, the width is K+1), and
    left out for trees, whose width counts nodes.
    """

    def __init__(self, page: Page, gauges: dict[str, dict[str, float]]) -> None:
        self._page = page
        self._gauges = gauges

    def __call__(self, increases: dict[Key, float]) -> dict[Key, float]:
        derived: dict[Key, float] = {}
        for key, verified in increases.items():
            if key.metric == VERIFY_CALLS.name:
                derived.update(self._model(key, verified, increases))
        return derived

    def _model(self, key: Key, verified: float, increases: dict[Key, float]) -> dict[Key, float]:
        gauges = self._gauges.get(key.model, {})
        depth, width = gauges.get("spec_num_steps"), gauges.get("spec_num_draft_tokens")
        drafts = Key(catalog.DRAFTS.name, key.model, key.engine, "")
        if depth == 0:
            return {drafts: 0.0}
        found = {drafts: verified}
        generated = increases.get(Key(catalog.GENERATION_TOKENS.name, key.model, key.engine, ""))
        if generated is not None and generated >= verified:
            found[drafts._replace(metric=catalog.ACCEPTED_TOKENS.name)] = generated - verified
        elif generated is not None:
            self._page.note("inconsistent_counts", "Fewer tokens than verify calls; accepted tokens are unknown.")
        if depth and width == depth + 1:
            found[drafts._replace(metric=catalog.DRAFT_TOKENS.name)] = verified * depth
        return found
