"""Warnings that a reading can carry: a stable code for machines, a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Notice:
    """Something about a reading that its user must know.

    Attributes:
        code: stable snake_case identifier, listed in `CODES`.
        message: one sentence: what was seen, what it means, what to do.
    """

    code: str
    message: str

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"unknown notice code {self.code!r}; add it to notices.CODES")


CODES: dict[str, str] = {
    "bad_value": "A sample was NaN, infinite or negative where that is impossible; it was left out.",
    "client_zero_conflict": "A response reports zero acceptance although tokens were verified; it is unknown.",
    "cold_start": "p99 TTFT of a benchmark is over 10 times the median at concurrency 1: a cold start is in it.",
    "counter_as_gauge": "A counter is exposed as a gauge (Ray 2.52); it is read as a counter.",
    "draft_copy": "Series of the draft model's own scheduler were left out: they repeat the target's.",
    "drafter_totals": "llama.cpp's log has totals since the server's start and no line of a request.",
    "drafts_rejected": "Nearly every draft token is rejected: the draft does not fit, or the engine fails at it.",
    "drain_gap": "Iterations are missing between two reads: another reader drained them, or the buffer overflowed.",
    "drained_by_read": "TensorRT-LLM's `/metrics` empties when read; a second reader steals from the first.",
    "duplicate_series": "The same series appears more than once; the largest value was kept.",
    "frontend_only": "This page is a gateway's; the engine's series are on the worker's port.",
    "gauge_only": "Acceptance comes from a gauge over the engine's last interval, not from counters.",
    "inconsistent_counts": "Counts contradict each other; the ratio that they would give is unknown.",
    "itl_per_chunk": "A benchmark's ITL is the time between chunks of several tokens, not between tokens.",
    "k_changed": "The number of speculative tokens changes within the log; positions are those of its last value.",
    "label_clash": "A label that specwatch uses is missing or shared on the engine's page.",
    "length_without_bonus": "vLLM 0.8.5 logs a mean length without the bonus token; it was added.",
    "line_partial": "A log line is cut; what it still says was used and the rest left out.",
    "lines_not_listed": "The log has more lines of counts than are listed; totals cover all of them.",
    "malformed_page": "The page breaks its own format; the samples were read all the same.",
    "mixed_engines": "Series of several engines are on one page; one of them was read.",
    "models_differ": "A model is on one of the two pages only; its counts start from zero or end.",
    "ngram_counts_all": "vLLM 0.32 and newer draft at every n-gram step, match or not; acceptance reads lower.",
    "no_engine": "No vLLM, SGLang or TensorRT-LLM series on the page.",
    "no_spec_series": "The page has no speculative series; if speculation is configured, its metrics are missing.",
    "no_speculative_record": "The response carries no speculative record; the engine needs a flag to send it.",
    "no_tokens_yet": "Requests run, and no token has been counted yet.",
    "not_drafting": "Speculation is configured and tokens are generated, but nothing is drafted.",
    "page_truncated": "The page does not end with a newline: its last line may be cut.",
    "peak_per_chunk": "A benchmark's peak throughput is below its mean: it counts chunks per second, not tokens.",
    "prediction_tokens": "Prediction tokens in a usage: speculation's if a gateway fills them, else the client's.",
    "rate_converted": "The engine's acceptance rate uses another formula and was converted exactly.",
    "rate_formula_unknown": "The engine's acceptance rate has several formulas by version; which one is unclear.",
    "rate_over_one": "An acceptance rate over 1 is impossible (old SGLang); it was refused.",
    "ray_serve_page": "This page is Ray Serve's own; the engine's series are on the replicas' metrics port.",
    "renamed_metric": "A metric carries an old or a foreign name; it is read under its present meaning.",
    "reset": "Counters started again between the two pages; increases are counted from zero there.",
    "speculation_slower": "Benchmark rows show speculation slower than none, whatever its acceptance.",
    "stale_gauge": "The acceptance gauge keeps its last value while the engine is idle.",
    "steps_without_draft": "A mean length covers draft steps only, and many tokens of the run had no draft.",
    "stream_cut": "A streamed response is not whole; what it says so far was used.",
    "sum_decreased": "A histogram's sum went down without a restart (negative observations); it was held.",
    "throughput_mismatch": "A benchmark's stated throughput is not its output tokens over its duration.",
    "token_counts_differ": "A benchmark's client counts other output tokens than the text that came has.",
    "too_many_labels": "The page holds more models or label values than the limit; the rest was left out.",
    "tpot_per_step": "A benchmark's TPOT is the time of a step of several tokens: its throughput says so.",
    "ttft_counted_twice": "More first tokens were counted than requests finished: some stand in it more than once.",
    "ttft_not_measured": "Every time to first token is under 1 ms: the engine does not measure it.",
    "two_populations": "Per-position counts cover finished requests, totals cover iterations; they differ.",
    "v0_definition": "vLLM V0 counts accepted tokens behind a rejection; its rate is an upper bound.",
    "variable_depth": "Drafts are often shorter than K, so acceptance of the later positions reads low.",
    "zero_draft_tax": "Speculation is on and drafts nothing, and requests are still slower than without it.",
    "zero_drafts": "Tokens and no drafts on a page that does not tell whether speculation is configured.",
}
