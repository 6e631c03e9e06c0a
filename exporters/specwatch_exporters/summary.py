"""From canonical increases to one report per model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from specwatch_exporters import catalog
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.histogram import summarise
from specwatch_exporters.page import Declared, Key, Page, Reported
from specwatch_exporters.report import Latency, ModelReport, State

# Histogram to its name in reports.
LATENCIES: dict[str, str] = {
    catalog.QUEUE_WAIT.name: "queue_wait_seconds",
    catalog.TTFT.name: "time_to_first_token_seconds",
    catalog.E2E.name: "e2e_latency_seconds",
    catalog.ITL_STEP.name: "inter_token_step_seconds",
    catalog.ITL_TOKEN.name: "inter_token_seconds",
    catalog.TPOT.name: "time_per_output_token_seconds",
}


class Counts:
    """Increases of one model, summed over engines on demand."""

    def __init__(self, model: str, increases: Mapping[Key, float]) -> None:
        self._by_metric: dict[str, list[tuple[Key, float]]] = {}
        for key, value in increases.items():
            if key.model == model:
                self._by_metric.setdefault(key.metric, []).append((key, value))

    def total(self, metric: str) -> float | None:
        """Sum over engines, or None if no engine has the metric."""
        rows = self._by_metric.get(metric)
        return None if rows is None else sum(value for _, value in rows)

    def by_extra(self, metric: str) -> dict[str, float]:
        """Sum over engines per value of the metric's own label."""
        sums: dict[str, float] = {}
        for key, value in self._by_metric.get(metric, ()):
            sums[key.extra] = sums.get(key.extra, 0.0) + value
        return sums

    def buckets(self, metric: str) -> dict[float, float]:
        """Cumulative counts per upper edge, summed over engines; only edges that every engine has."""
        rows = self._by_metric.get(f"{metric}_bucket", ())
        edges: dict[str, set[float]] = {}
        sums: dict[float, float] = {}
        for key, value in rows:
            edge = float(key.extra)
            edges.setdefault(key.engine, set()).add(edge)
            sums[edge] = sums.get(edge, 0.0) + value
        shared = set.intersection(*edges.values()) if edges else set()
        return {edge: sums[edge] for edge in shared}

    def engines(self) -> set[str]:
        """Engines that counted anything."""
        return {key.engine for rows in self._by_metric.values() for key, _ in rows}


def tally(counts: Counts) -> Tally:
    """Speculative counts of one model; positions in numeric order.

    A draft has at least one token, so as many tokens as drafts means one token each: then position 0 is known
    even if the page has no positions.
    """
    positions = _positions(counts.by_extra(catalog.ACCEPTED_PER_POSITION.name))
    drafts, drafted_tokens = counts.total(catalog.DRAFTS.name), counts.total(catalog.DRAFT_TOKENS.name)
    accepted = counts.total(catalog.ACCEPTED_TOKENS.name)
    if not positions and drafts and drafts == drafted_tokens and accepted is not None:
        positions = (accepted,)
    drafted = counts.by_extra(catalog.DRAFTED_PER_POSITION.name)
    return Tally(
        drafts=drafts,
        draft_tokens=drafted_tokens,
        accepted_tokens=accepted,
        accepted_per_position=positions,
        position_drafts=drafted.get("0") if drafts is None else None,
    )


def _positions(by_label: Mapping[str, float]) -> tuple[float, ...]:
    known = {int(label): value for label, value in by_label.items() if label.isdigit()}
    return tuple(known.get(index, 0.0) for index in range(max(known, default=-1) + 1))


def speculation_state(
    declared: Declared,
    drafts: float | None,
    generated: float | None,
    reported: Reported,
    running: float | None,
) -> State:
    """Tell apart the states that one page can show (staleness is a matter of time, not of the page).

    Args:
        declared: what the page says about speculation.
        drafts: draft steps in the span, or None if the engine has no such counter.
        generated: output tokens in the span, or None.
        reported: acceptance by gauge; it keeps its last value while nothing runs.
        running: requests running now, or None.
    """
    if drafts:
        return State.ACTIVE
    if declared is Declared.OFF:
        return State.OFF
    if drafts is not None:
        return State.OFF if generated else State.IDLE
    if declared is Declared.UNKNOWN or reported == Reported():
        return State.UNKNOWN
    return State.IDLE if running == 0 else State.ACTIVE


def build_models(page: Page, increases: Mapping[Key, float]) -> list[ModelReport]:
    """One report per model on the page; notes on the page what the counts alone reveal."""
    return [_build(page, model, Counts(model, increases)) for model in page.models()]


def _build(page: Page, model: str, counts: Counts) -> ModelReport:
    own = tally(counts)
    declared = page.declared.get(model, Declared.UNKNOWN)
    reported = page.reported.get(model, Reported())
    generated = counts.total(catalog.GENERATION_TOKENS.name)
    activity = own.drafts if own.drafts is not None else own.draft_tokens
    running = gauge(page, model, catalog.RUNNING)
    state = speculation_state(declared, activity, generated, reported, running)
    _note_state(page, model, state, declared, activity)
    speculating = state not in (State.OFF, State.UNKNOWN) or bool(activity)
    return ModelReport(
        model=model,
        state=state,
        engines=len(counts.engines() | {key.engine for key in page.gauges if key.model == model}),
        tally=_checked(page, own) if speculating else Tally(),
        definition=page.definition if speculating else "none",
        rate=reported.rate,
        length=_position_length(own) if own.drafts is None and own.position_drafts else reported.length,
        running=running,
        waiting=gauge(page, model, catalog.WAITING),
        kv_cache_usage=gauge(page, model, catalog.KV_USAGE),
        speculative_tokens=page.speculative_tokens.get(model),
        method=page.methods.get(model),
        latencies=latencies(counts),
        facts={
            "generation_tokens": generated,
            "prompt_tokens": counts.total(catalog.PROMPT_TOKENS.name),
            **page.facts.get(model, {}),
        },
    )


def _checked(page: Page, own: Tally) -> Tally:
    """Refuse counts that contradict each other: more kept than proposed cannot be."""
    accepted, drafted = own.accepted_tokens, own.draft_tokens
    if accepted is None or drafted is None or accepted <= drafted or page.definition == "vllm-v0-any-position":
        return own
    page.note("inconsistent_counts", f"{accepted:g} accepted of {drafted:g} draft tokens cannot be; rate unknown.")
    return Tally(drafts=own.drafts, accepted_per_position=own.accepted_per_position)


def _position_length(own: Tally) -> float | None:
    if not own.position_drafts:
        return None
    return 1.0 + sum(own.accepted_per_position) / own.position_drafts


def _note_state(page: Page, model: str, state: State, declared: Declared, activity: float | None) -> None:
    if state is State.UNKNOWN and page.engine != "dynamo-frontend":
        page.note(
            "no_spec_series",
            f"No speculative series for {model}: if speculation is configured, its metrics are missing "
            "(statistics disabled, or the wrong port); if it is not, all is well.",
        )
    if state is State.OFF and declared is Declared.CONFIGURED and activity == 0:
        page.note(
            "not_drafting",
            f"{model} generates tokens and drafts nothing, although speculation is configured: "
            "K is 0 at this batch size, a gate has latched, or no n-gram matches.",
        )


def gauge(page: Page, model: str, metric: catalog.Metric) -> float | None:
    """One number per model: requests are summed over engines, the KV share is the fullest engine's."""
    values = [value for key, value in page.gauges.items() if key.model == model and key.metric == metric.name]
    if not values:
        return None
    return max(values) if metric is catalog.KV_USAGE else sum(values)


def latencies(counts: Counts, names: Iterable[str] = LATENCIES) -> dict[str, Latency]:
    """Latency summaries of one model, for histograms that have observations."""
    found: dict[str, Latency] = {}
    for name in names:
        count = counts.total(f"{name}_count")
        if count:
            found[LATENCIES[name]] = summarise(counts.buckets(name), counts.total(f"{name}_sum"), count)
    return found
