"""SGLang 0.4 to 0.5: gauges, and since 0.5.13 a counter of verify calls.

Source: `sglang/srt/observability/metrics_collector.py` (0.4.3 to 0.5.23). SGLang exports neither draft nor accepted
tokens. From 0.5.13 they follow from counters: every verify call of a request yields its accepted tokens and one
more, so accepted = generated - verify calls. The first token of a request comes from the prefill and tokens behind
the end are cut; both are one token a request or less, and the definition's name says that it is derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from specwatch_exporters import catalog
from specwatch_exporters.engines.intake import Dialect, Intake, strip_prefixes
from specwatch_exporters.exposition import Exposition
from specwatch_exporters.page import Declared, Key, Page, Reported
from specwatch_exporters.sglang_rate import Interpretation, interpret

PREFIXES = ("sglang:", "sglang_")
COUNTER_DEFINITION = "sglang-tokens-per-verify"
GAUGE_DEFINITION = "sglang-gauge"
# Not exported: draft steps follow from it, as long as the engine drafts at all.
VERIFY_CALLS = "sglang_verify_calls"
LENGTH, RATE, STEPS, WIDTH = "spec_accept_length", "spec_accept_rate", "spec_num_steps", "spec_num_draft_tokens"

DIALECT = Dialect(
    counters={
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
    own_counters={"spec_verify_calls": VERIFY_CALLS},
    readings=frozenset({LENGTH, RATE, STEPS, WIDTH}),
    legacy=frozenset({"queue_time_s", "time_per_output_token_seconds"}),
    rank_label="dp_rank",
    # Every rank of one data-parallel replica reports the same scheduler.
    copy_labels=frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"}),
    own_labels=frozenset({"engine_type", "is_streaming", "mode", "cache_source"}),
    # With priority scheduling the total stands under an empty priority, beside one series for each.
    total_label="priority",
    ignored=("engine_type", "draft"),
)
TARGETS = DIALECT.targets()
# First seen in 0.5.11 or later, when the rate became accepted / proposed; before, it included the bonus token.
STRICT_MARKERS = frozenset({STEPS, "spec_verify_calls_total", "kv_available_tokens", "num_pages"})
Readings = Mapping[str, float]
_RATE_SLACK = 0.02


class SglangReader:
    """Reads SGLang pages, either spelling of the names."""

    engine = "sglang"

    def recognises(self, names: AbstractSet[str]) -> bool:
        """True if any name has an SGLang prefix."""
        return any(name.startswith(PREFIXES) for name in names)

    def read(self, exposition: Exposition, names: AbstractSet[str]) -> Page:
        """Read the page: copies by rank are dropped, counters preferred over gauges."""
        stripped = strip_prefixes(names, PREFIXES)
        strict = not STRICT_MARKERS.isdisjoint(stripped.values())
        page = Page("sglang", "metrics", COUNTER_DEFINITION)
        intake = Intake(page, DIALECT, TARGETS)
        intake.take(exposition.families, stripped)
        readings = _by_model(page, intake.readings)
        moved = _moved(page)
        for model in sorted({*page.models(), *readings}):
            _settle_model(page, model, readings.get(model, {}), moved.get(model, {}), strict=strict)
        if any(VERIFY_CALLS in counts for counts in moved.values()):
            page.derive = _Derivation(page, readings)
        else:
            page.definition = GAUGE_DEFINITION
        if any(name.startswith("sglang_") for name in names):
            page.note(
                "renamed_metric", "Names are spelled sglang_ instead of sglang:; read under their own meaning."
            )
        return page


def _by_model(page: Page, readings: Mapping[tuple[str, str], Readings]) -> dict[str, dict[str, float]]:
    """Speculative gauges per model: those of the busy ranks, averaged by running requests where they differ."""
    found: dict[str, dict[str, float]] = {}
    for model in {model for model, _ in readings}:
        ranks = {engine: values for (name, engine), values in readings.items() if name == model}
        running = {engine: page.gauges.get(Key(catalog.RUNNING.name, model, engine, "")) or 0.0 for engine in ranks}
        busy = {engine: values for engine, values in ranks.items() if running[engine]} or ranks
        names = {name for values in busy.values() for name in values}
        for name in names:
            pairs = [(values[name], running[engine] or 1.0) for engine, values in busy.items() if name in values]
            found.setdefault(model, {})[name] = _mean(page, name, pairs)
    return found


def _mean(page: Page, name: str, pairs: Iterable[tuple[float, float]]) -> float:
    values = list(pairs)
    if len({value for value, _ in values}) > 1:
        page.note(
            "gauge_only", f"{name} differs between {len(values)} ranks; shown is the mean by running requests."
        )
        return sum(value * weight for value, weight in values) / sum(weight for _, weight in values)
    return values[0][0]


def _moved(page: Page) -> dict[str, dict[str, float]]:
    """Per model, sums of the counters that tell whether anything was verified or generated, and what runs."""
    found: dict[str, dict[str, float]] = {}
    for series, value in page.counters.items():
        if series.metric in {VERIFY_CALLS, catalog.GENERATION_TOKENS.name}:
            counts = found.setdefault(series.model, {})
            counts[series.metric] = counts.get(series.metric, 0.0) + value
    for key, value in page.gauges.items():
        if key.metric == catalog.RUNNING.name:
            counts = found.setdefault(key.model, {})
            counts[key.metric] = counts.get(key.metric, 0.0) + value
    return found


def _settle_model(page: Page, model: str, readings: Readings, moved: Readings, *, strict: bool) -> None:
    """Fill in what is declared, K, and the gauge's acceptance of one model."""
    if readings or VERIFY_CALLS in moved:
        page.speculative.add(model)
    page.declared[model] = declared = _declared(readings, moved)
    steps, width = readings.get(STEPS), readings.get(WIDTH)
    proposed = _proposed(readings)
    if proposed:
        page.speculative_tokens[model] = proposed
    if steps == 0 and (moved.get(VERIFY_CALLS) or readings.get(LENGTH)):
        page.note("not_drafting", "spec_num_steps is 0: the adaptive tier switched drafting off; not a collapse.")
    if declared is not Declared.CONFIGURED or not (readings.get(LENGTH) or readings.get(RATE)):
        return
    depth = int(width) if width else None
    reading = interpret(readings.get(RATE), readings.get(LENGTH), 0.0, draft_tokens=depth, strict=strict or None)
    page.reported[model] = Reported(_agreed(page, reading, proposed), reading.length)
    if reading.speculative_tokens and model not in page.speculative_tokens:
        page.speculative_tokens[model] = reading.speculative_tokens
    if moved.get(VERIFY_CALLS):
        return
    for notice in reading.notices:
        page.note(notice.code, notice.message)
    page.note("gauge_only", "Acceptance is a gauge over the last decode interval; there are no counters to window.")
    if moved.get(catalog.RUNNING.name) == 0:
        page.note("stale_gauge", "Nothing is running, and SGLang keeps the last interval's acceptance when idle.")


def _agreed(page: Page, reading: Interpretation, proposed: int) -> float | None:
    """The rate, unless it contradicts the length: accepted / draft tokens is (length - 1) / K of one interval."""
    if reading.rate is None or reading.length is None or not proposed:
        return reading.rate
    expected = (reading.length - 1.0) / proposed
    if abs(expected - reading.rate) <= _RATE_SLACK:
        return reading.rate
    page.note(
        "inconsistent_counts",
        f"An accept rate of {reading.rate:.4g} and a length of {reading.length:.4g} do not fit K = {proposed}, "
        f"which gives {expected:.4g}: K changed within the interval, or the numbers are not of one engine.",
    )
    return None


def _proposed(readings: Readings) -> int:
    """K, the draft tokens of one verify call: all nodes but the root, else the steps; 0 if off or not told.

    Steps alone are no K: n-gram's are by default its nodes over its breadth, 12 // 10 = 1 (0.5.17).
    """
    steps, width = readings.get(STEPS), readings.get(WIDTH)
    return int(width - 1 if steps and width and width > 1 else steps or 0)


def _declared(readings: Readings, moved: Readings) -> Declared:
    """SGLang exports zeros when speculation is off, and before it was first used."""
    if readings.get(STEPS) or readings.get(LENGTH) or readings.get(RATE):
        return Declared.CONFIGURED if readings.get(STEPS) != 0 else Declared.OFF
    if STEPS in readings:
        return Declared.OFF
    if moved.get(VERIFY_CALLS):
        return Declared.CONFIGURED
    traffic = moved.get(catalog.GENERATION_TOKENS.name) or moved.get(catalog.RUNNING.name)
    return Declared.OFF if readings and traffic else Declared.UNKNOWN


class _Derivation:
    """Draft steps, draft tokens and accepted tokens from verify calls and generated tokens.

    Draft steps = verify calls, but for the adaptive tier 0, whose one-node verifies have no draft. Draft tokens =
    draft steps * K, if K is the same on this page and the one before; exact for chains, whose width is K+1, one
    more than the steps at most, and left out for trees, whose width counts nodes. A first page is taken to have had
    its K all along, unless drafting is off now: then what its verify calls were is unknown.
    """

    def __init__(self, page: Page, readings: Mapping[str, Readings]) -> None:
        self._page = page
        self._readings = readings

    def __call__(self, increases: dict[Key, float], before: Mapping[str, int] | None) -> dict[Key, float]:
        derived: dict[Key, float] = {}
        for key, verified in increases.items():
            if key.metric == VERIFY_CALLS:
                derived.update(self._one(key, verified, increases, before))
        return derived

    def _one(
        self, key: Key, verified: float, increases: Mapping[Key, float], before: Mapping[str, int] | None
    ) -> dict[Key, float]:
        readings = self._readings.get(key.model, {})
        steps, width, proposed = readings.get(STEPS), readings.get(WIDTH), _proposed(readings)
        drafts = Key(catalog.DRAFTS.name, key.model, key.engine, "")
        if steps == 0:
            return {} if before is None else {drafts: 0.0}
        found = {drafts: verified}
        generated = increases.get(drafts._replace(metric=catalog.GENERATION_TOKENS.name))
        if generated is not None and generated >= verified:
            found[drafts._replace(metric=catalog.ACCEPTED_TOKENS.name)] = generated - verified
        elif generated is not None:
            self._page.note("inconsistent_counts", "Fewer tokens than verify calls; accepted tokens are unknown.")
        if not steps or not 1 < (width or 0) <= steps + 1:
            return found
        if before is not None and before.get(key.model, proposed) != proposed:
            self._page.note("k_changed", "K changed between two pages; draft tokens of that span are unknown.")
        else:
            found[drafts._replace(metric=catalog.DRAFT_TOKENS.name)] = verified * proposed
        return found
