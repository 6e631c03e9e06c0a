"""From canonical increases to one report per model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from specwatch_exporters import catalog, derived
from specwatch_exporters.acceptance import Tally, ratio
from specwatch_exporters.counts import NOTHING, Counts
from specwatch_exporters.engines.vllm_v0 import EMITTED
from specwatch_exporters.engines.vllm_v1 import PREFIX_HITS, PREFIX_QUERIES
from specwatch_exporters.first_tokens import first_token_notices
from specwatch_exporters.histogram import summarise
from specwatch_exporters.page import Declared, Key, Page, Reported
from specwatch_exporters.report import NO_DEFINITION, Fact, Latency, ModelReport, State
from specwatch_exporters.tallying import checked, tally

# Histogram to its name in reports.
LATENCIES: dict[str, str] = {
    catalog.QUEUE_WAIT.name: "queue_wait_seconds",
    catalog.TTFT.name: "time_to_first_token_seconds",
    catalog.E2E.name: "e2e_latency_seconds",
    catalog.ITL_STEP.name: "inter_token_step_seconds",
    catalog.ITL_TOKEN.name: "inter_token_seconds",
    catalog.TPOT.name: "time_per_output_token_seconds",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the state of one model follows from.

    Attributes:
        declared: what the page says about speculation.
        drafts: draft steps (or what else shows drafts) in the span, or None if the page has no such counter.
        decoded: output tokens in the span beyond the first of each request, or None.
        running: requests running now, or None.
        reported: acceptance by gauge; it keeps its last value while nothing runs.
        live: True if the engine counts drafts as they happen, not when a request ends.
    """

    declared: Declared
    drafts: float | None
    decoded: float | None
    running: float | None
    reported: Reported
    live: bool

    @property
    def state(self) -> State:
        """The state (staleness is a matter of time, not of the page)."""
        if self.drafts:
            return State.ACTIVE
        if self.declared is Declared.OFF:
            return State.OFF
        if self.drafts is not None and self.decoded:
            return State.OFF
        if self.running:
            return self._while_running()
        if self.declared is Declared.CONFIGURED:
            return State.ACTIVE if self.running is None and self.reported != Reported() else State.IDLE
        return State.UNKNOWN if self.drafts is None else State.IDLE

    def _while_running(self) -> State:
        """Requests run and no token was counted yet: what a gauge or a live counter says holds."""
        if self.declared is Declared.CONFIGURED and self.reported != Reported():
            return State.ACTIVE
        if self.live and self.drafts == 0 and self.decoded is None:
            return State.OFF
        return State.UNKNOWN


def build_models(page: Page, increases: Mapping[Key, float]) -> list[ModelReport]:
    """One report per model on the page; notes on the page what the counts alone reveal."""
    counts, gauges = Counts.by_model(increases), Counts.by_model(page.gauges)
    return [_build(page, model, counts.get(model, NOTHING), gauges.get(model, NOTHING)) for model in page.models()]


def _build(page: Page, model: str, counts: Counts, gauges: Counts) -> ModelReport:
    own = tally(counts)
    reported = page.reported.get(model, Reported())
    evidence = Evidence(
        declared=page.declared.get(model, Declared.UNKNOWN),
        drafts=_drafted(own),
        decoded=_decoded(counts),
        running=gauges.gauge(catalog.RUNNING),
        reported=reported,
        live=page.engine != "sglang",
    )
    state = evidence.state
    _note_state(page, model, state, evidence)
    counted = bool(evidence.drafts)
    speculating = counted or state is State.ACTIVE or (own.position_drafts is not None)
    times = latencies(counts)
    finished = counts.total(catalog.REQUESTS.name)
    ttft = times.get(LATENCIES[catalog.TTFT.name])
    page.notices += first_token_notices(model, ttft, finished, evidence.running)
    return ModelReport(
        model=model,
        state=state,
        engines=len(counts.engines() | gauges.engines()),
        tally=checked(page, model, own) if speculating else Tally(),
        definition=page.definition if speculating or state is State.IDLE else NO_DEFINITION,
        rate=reported.rate if speculating or state is State.IDLE else None,
        length=_length(own, reported) if speculating or state is State.IDLE else None,
        running=evidence.running,
        waiting=gauges.gauge(catalog.WAITING),
        kv_cache_usage=gauges.gauge(catalog.KV_USAGE),
        speculative_tokens=page.speculative_tokens.get(model),
        method=page.methods.get(model),
        latencies=times,
        facts=_facts(page, model, counts),
    )


def _drafted(own: Tally) -> float | None:
    """Draft steps or draft tokens; in an excerpt that has neither, whatever was accepted had been drafted."""
    if own.drafts is not None or own.draft_tokens is not None:
        return own.drafts if own.drafts is not None else own.draft_tokens
    accepted = own.accepted_tokens or sum(value or 0.0 for value in own.accepted_per_position)
    return accepted or None


def _decoded(counts: Counts) -> float | None:
    """Output tokens beyond each request's first, which prefill gives; a prefill-only worker decodes nothing."""
    generated = counts.total(catalog.GENERATION_TOKENS.name)
    first = counts.total(f"{catalog.TTFT.name}_count")
    if generated is None or first is None:
        return generated
    return max(0.0, generated - first)


def _length(own: Tally, reported: Reported) -> float | None:
    """The gauge's length, or the one over finished requests where positions have denominators of their own."""
    if own.drafts is not None or not own.position_drafts:
        return reported.length
    return 1.0 + sum(value or 0.0 for value in own.accepted_per_position) / own.position_drafts


def _facts(page: Page, model: str, counts: Counts) -> dict[str, Fact]:
    facts: dict[str, Fact] = {
        "generation_tokens": counts.total(catalog.GENERATION_TOKENS.name),
        "prompt_tokens": counts.total(catalog.PROMPT_TOKENS.name),
    }
    if counts.total(PREFIX_QUERIES) is not None or page.engine == "vllm":
        facts["prefix_cache_hit_rate"] = ratio(counts.total(PREFIX_HITS), counts.total(PREFIX_QUERIES))
    if counts.total(f"{catalog.ITL_STEP.name}_count"):
        facts["tokens_per_step"] = derived.tokens_per_step(counts)
        facts["seconds_per_token"] = derived.token_latency(counts)
    emitted = counts.total(EMITTED)
    if emitted is not None:
        facts[EMITTED] = emitted
    return {**facts, **page.facts.get(model, {})}


def _note_state(page: Page, model: str, state: State, evidence: Evidence) -> None:
    empty = page.drained and not page.counters
    if model not in page.speculative and state is State.UNKNOWN and page.engine != "dynamo-frontend" and not empty:
        page.note(
            "no_spec_series",
            f"No speculative series for {model}: if speculation is configured, its metrics are missing "
            "(statistics disabled, or the wrong port); if it is not, all is well.",
        )
    if state is State.UNKNOWN and evidence.declared is Declared.CONFIGURED and evidence.running:
        page.note("no_tokens_yet", f"{model} runs requests, and none has given a token that is counted yet.")
    if state is State.OFF and evidence.declared is Declared.CONFIGURED and evidence.drafts == 0:
        page.note(
            "not_drafting",
            f"{model} generates tokens and drafts nothing, although speculation is configured: "
            "K is 0 at this batch size, a gate has latched, or no n-gram matches.",
        )
    doubtful = evidence.declared is Declared.UNKNOWN and evidence.drafts == 0 and not page.dialect.endswith("rust")
    if state is State.OFF and doubtful and model in page.speculative:
        page.note(
            "zero_drafts",
            f"{model} generates tokens and drafts nothing. The Python frontend has these series only if it is to "
            "speculate, and then it fails to; the Rust frontend has them in any case, and then speculation is off. "
            "This page does not tell which it is; the engine's start-up line does.",
        )


def latencies(counts: Counts, names: Iterable[str] = LATENCIES) -> dict[str, Latency]:
    """Latency summaries of one model, for histograms that have observations; an excerpt may lack their count."""
    found: dict[str, Latency] = {}
    for name in names:
        buckets = counts.buckets(name)
        count = counts.total(f"{name}_count") or buckets.get(math.inf)
        if count:
            found[LATENCIES[name]] = summarise(buckets, counts.histogram_sum(name), count)
    return found
