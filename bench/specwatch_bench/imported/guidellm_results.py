"""GuideLLM: `benchmarks.json`, version 2 of its report (0.8), with every request unless it was asked to sample.

Reports of version 1 (0.6) and those before it (0.2 to 0.5), which name no version, are read for their statistics.

Its `inter_token_latency_ms` is a request's time per token after the first, which others call TPOT; its
`time_per_output_token_ms` has the time to the first token in it and is left out. It keeps a request's first and
last token, not the chunks between: what a user waits between chunks is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specwatch_bench.imported.chunks import record_of
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.request_record import RequestRecord
from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bench_run import BenchRun, Times
from specwatch_exporters.bodies.fields import count, items, mapping, name, number

TOOL = "GuideLLM"
_MILLI = 1e3
_TTFT = "time_to_first_token_ms"
_OUTCOMES = ("successful", "errored", "incomplete")


def is_guidellm(body: Mapping[str, Any]) -> bool:
    """Whether an object is GuideLLM's report."""
    benchmarks = items(body.get("benchmarks"))
    if "guidellm_version" in mapping(body.get("metadata")):
        return bool(benchmarks)
    return bool(benchmarks) and all(_statistics(mapping(one.get("metrics")), _TTFT) for one in benchmarks)


def read_guidellm(body: Mapping[str, Any]) -> list[ImportedRun]:
    """One run for each benchmark of a report."""
    return [_run(benchmark, index) for index, benchmark in enumerate(items(body.get("benchmarks")), start=1)]


def _run(benchmark: Mapping[str, Any], index: int) -> ImportedRun:
    metrics = mapping(benchmark.get("metrics"))
    earlier = mapping(benchmark.get("run_stats"))
    totals = mapping(metrics.get("request_totals")) or mapping(earlier.get("requests_made"))
    strategy = _strategy(benchmark)
    requests = items(mapping(benchmark.get("requests")).get("successful"))
    records, whole = _records(requests), len(requests) == count(totals.get("successful"))
    tokens = number(_statistics(metrics, "output_token_count").get("total_sum"))
    seconds = number(benchmark.get("duration")) or _span(benchmark) or _span(earlier)
    run = BenchRun(
        name=f"{name(strategy.get('type_')) or 'run'} {index}",
        concurrency=count(strategy.get("streams")) or count(strategy.get("max_concurrency")),
        requests=count(totals.get("successful")),
        failed=count(totals.get("errored")),
        duration_s=seconds,
        output_tokens=None if tokens is None else round(tokens),
        output_tok_s=tokens / seconds if tokens and seconds else None,
        ttft=_times(metrics, _TTFT),
        tpot=_times(metrics, "inter_token_latency_ms"),
        tally=_tally(requests) if whole else Tally(),
    )
    prompt = number(_statistics(metrics, "prompt_token_count").get("total_sum"))
    return ImportedRun(
        tool=TOOL,
        run=run,
        e2e=_times(metrics, "request_latency", _MILLI),
        input_tokens=None if prompt is None else round(prompt),
        rate=number(strategy.get("rate")),
        records=records,
        placed=bool(records),
        chunked=False,
        remarks=tuple(_remarks(requests, whole=whole)),
    )


def _strategy(benchmark: Mapping[str, Any]) -> Mapping[str, Any]:
    """How the load was made; before 0.6 it stands under `args`, and a profile may stand for it."""
    settings = mapping(benchmark.get("config")) or mapping(benchmark.get("args"))
    return mapping(settings.get("strategy")) or mapping(mapping(benchmark.get("scheduler")).get("strategy"))


def _span(part: Mapping[str, Any]) -> float | None:
    start, end = number(part.get("start_time")), number(part.get("end_time"))
    return None if start is None or end is None or end <= start else end - start


def _remarks(requests: Sequence[Mapping[str, Any]], *, whole: bool) -> list[str]:
    said = [
        "its inter-token latency is a request's time per token (TPOT here), and its time per output token has TTFT",
        "it keeps no chunks: what a user waits between them is unknown",
    ]
    return said if whole or not requests else [*said, f"the report holds a sample of {len(requests)} requests"]


def _statistics(metrics: Mapping[str, Any], which: str) -> Mapping[str, Any]:
    return mapping(mapping(metrics.get(which)).get("successful"))


def _times(metrics: Mapping[str, Any], which: str, factor: float = 1.0) -> Times:
    found = _statistics(metrics, which)
    p99 = mapping(found.get("percentiles")).get("p99")
    values = [number(found.get("mean")), number(found.get("median")), number(p99)]
    return Times(*(None if value is None else value * factor for value in values))


def _tally(requests: Sequence[Mapping[str, Any]]) -> Tally:
    """Draft counts over all requests, where the engine adds its own metrics to each answer."""
    own = [mapping(mapping(one.get("response_metrics")).get("speculative_decoding")) for one in requests]
    steps, drafted, accepted = (
        [number(one.get(which)) for one in own]
        for which in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
    )
    counts = [[value for value in each if value is not None] for each in (steps, drafted, accepted)]
    if not own or any(len(each) != len(own) for each in counts):
        return Tally()
    drafts, proposed, kept = (float(sum(each)) for each in counts)
    return Tally(drafts, proposed, kept) if kept <= proposed else Tally()


def _records(requests: Sequence[Mapping[str, Any]]) -> tuple[RequestRecord, ...]:
    timed = sorted(
        (
            (at, one)
            for at, one in ((number(one.get("request_start_time")), one) for one in requests)
            if at is not None
        ),
        key=lambda pair: pair[0],
    )
    zero = timed[0][0] if timed else 0.0
    return tuple(_record(index, at - zero, at, one) for index, (at, one) in enumerate(timed))


def _record(index: int, sent: float, began: float, request: Mapping[str, Any]) -> RequestRecord:
    timings = mapping(mapping(request.get("info")).get("timings"))
    first, last = (number(timings.get(f"{which}_token_iteration")) for which in ("first", "last"))
    tokens, latency = count(request.get("output_tokens")), number(request.get("request_latency"))
    gaps = [] if first is None or last is None or last <= first else [last - first]
    return record_of(
        index,
        sent=sent,
        first=None if first is None else first - began,
        gaps=gaps,
        ended=latency,
        prompt_tokens=count(request.get("prompt_tokens")),
        tokens=tokens,
    )
