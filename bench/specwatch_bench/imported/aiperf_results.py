"""AIPerf: `profile_export_aiperf.json` (statistics) and `profile_export.jsonl` (a line for each request), 0.13.

AIPerf's inter-token latency is a request's time per token after the first, which others call TPOT; the gap that a
user sees is its inter-chunk latency. It counts output tokens with a tokenizer of its own; with `usage` from the
engine it writes those beside them, and then they are used here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_bench.imported.chunks import per_request, record_of
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.metric_blocks import count_of, moment, times_of, value_of
from specwatch_bench.request_record import RequestRecord
from specwatch_exporters.acceptance import Tally, ratio
from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.bodies.fields import count, items, mapping, name, number
from specwatch_exporters.json_text import decode

TOOL = "AIPerf"
_NANO = 1e9
_SAME = 0.01
ACCEPTANCE_LENGTH = "acceptance_length"
"""Its mean over requests, where the file has no counts."""
ACCEPTANCE_RATE = "acceptance_rate"
"""A row that reports add to the tool's own (tenstorrent/tt-inference-server#3699)."""


def is_aiperf(body: Mapping[str, Any]) -> bool:
    """Whether an object is AIPerf's summary."""
    return "aiperf_version" in body or ("input_config" in body and "output_sequence_length" in body)


def read_aiperf(body: Mapping[str, Any], requests: str | None = None, tool: str = TOOL) -> ImportedRun:
    """The run of a summary.

    Args:
        body: the summary, decoded.
        requests: text of the file with a line for each request, or None.
        tool: that wrote it; GenAI-Perf's summary has the same shape.
    """
    counted, stated = _tokens(body)
    differ = bool(counted and stated and abs(stated / counted - 1.0) > _SAME)
    records = () if requests is None else _records(requests)
    seconds = value_of(body, "benchmark_duration")
    run = BenchRun(
        name=_model(body),
        concurrency=_concurrency(body),
        requests=count_of(body, "request_count"),
        failed=count_of(body, "error_request_count") or 0,
        duration_s=seconds,
        output_tokens=counted,
        output_tok_s=ratio(counted, seconds) if differ else value_of(body, "output_token_throughput"),
        ttft=times_of(body, "time_to_first_token"),
        tpot=per_request(records) if differ else times_of(body, "inter_token_latency"),
        itl=times_of(body, "inter_chunk_latency"),
        tally=_tally(body),
        rate=value_of(body, ACCEPTANCE_RATE) or None,  # 0 of a run that drafted nothing
        length=value_of(body, ACCEPTANCE_LENGTH),
    )
    return ImportedRun(
        tool=tool,
        run=run,
        e2e=times_of(body, "request_latency"),
        input_tokens=count_of(body, "total_usage_prompt_tokens") or count_of(body, "total_isl"),
        rate=_rate(body),
        records=records,
        placed=bool(records),
        remarks=tuple(_remarks(counted, stated, differ=differ, own=bool(records), usage=_usage(body) is not None)),
    )


def _tokens(body: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Output tokens as the engine counts them where it does, and as the tool's tokenizer does."""
    stated = count_of(body, "total_osl") or count_of(body, "total_output_tokens")
    return _usage(body) or stated, stated


def _usage(body: Mapping[str, Any]) -> int | None:
    """Output tokens as the engine counts them."""
    return count_of(body, "total_usage_completion_tokens") or None


def _remarks(counted: int | None, stated: int | None, *, differ: bool, own: bool, usage: bool) -> list[str]:
    said = ["its inter-token latency is a request's time per token (TPOT here)"]
    if not usage:
        said.append("tokens are those of its own tokenizer: the engine's count is not in the file")
    if differ:
        said.append(
            f"its tokenizer counts {stated} output tokens, the engine {counted}: throughput and times a token are "
            f"{'made from' if own else 'left out without'} the requests and the engine's count"
        )
    if own:
        said.append("chunks are of unknown size: a request's tokens are shared evenly among its chunks")
    return said


def _tally(body: Mapping[str, Any]) -> Tally:
    drafts, drafted, accepted = (
        value_of(body, which)
        for which in ("total_spec_decode_steps", "total_draft_tokens", "total_accepted_draft_tokens")
    )
    if drafted is not None and accepted is not None and accepted > drafted:
        return Tally()
    return Tally(drafts, drafted, accepted, _accepted_at(body, drafts))


def _accepted_at(body: Mapping[str, Any], drafts: float | None) -> tuple[float | None, ...]:
    """Steps that accepted a token at each position, from the histogram of accepted tokens a step."""
    pooled = mapping(body.get("pooled_spec_decode_acceptance_histogram"))
    steps = {int(length): count(steps) or 0 for length, steps in pooled.items() if length.isdigit()}
    if not steps or sum(steps.values()) != drafts:
        return ()
    return tuple(
        float(sum(many for length, many in steps.items() if length >= position))
        for position in range(1, max(steps) + 1)
    )


def _model(body: Mapping[str, Any]) -> str:
    models = mapping(mapping(body.get("input_config")).get("models"))
    names = [name(model.get("name")) for model in items(models.get("items"))]
    return next((found for found in names if found), TOOL)


def _concurrency(body: Mapping[str, Any]) -> int | None:
    """Its limit, beside a rate too."""
    return next((found for load in _loads(body) if (found := count(load.get("concurrency")))), None)


def _rate(body: Mapping[str, Any]) -> float | None:
    """Requests per second that it was told to send; None under a limit alone, a schedule or a changing rate."""
    known = (number(load.get(name)) for load in _loads(body) for name in ("rate", "request_rate"))
    return next((found for found in known if found), None)


def _loads(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What says how the load was made: the phase of its profile, and options in older versions."""
    settings = mapping(body.get("input_config"))
    phases = [one for one in items(settings.get("phases")) if one.get("name", "profiling") == "profiling"]
    return [*phases, mapping(settings.get("loadgen"))]


def _records(text: str) -> tuple[RequestRecord, ...]:
    lines = [line for line in map(decode, text.splitlines()) if isinstance(line, dict)]
    profiled = [line for line in lines if mapping(line.get("metadata")).get("benchmark_phase") == "profiling"]
    starts = [moment(mapping(line.get("metadata")).get("request_start_ns")) for line in profiled]
    zero = min((at for at in starts if at is not None), default=0)
    pairs = [(at, line) for at, line in zip(starts, profiled, strict=True) if at is not None]
    pairs.sort(key=lambda pair: pair[0])
    return tuple(_record(index, (at - zero) / _NANO, line) for index, (at, line) in enumerate(pairs))


def _record(index: int, sent: float, line: Mapping[str, Any]) -> RequestRecord:
    metrics = mapping(line.get("metrics"))

    def seconds(which: str) -> float | None:
        value = number(mapping(metrics.get(which)).get("value"))
        return None if value is None else value / 1e3

    gaps = mapping(metrics.get("inter_chunk_latency")).get("value")
    return record_of(
        index,
        sent=sent,
        first=seconds("time_to_first_token"),
        gaps=[gap / 1e3 for gap in map(number, gaps if isinstance(gaps, list) else ()) if gap is not None],
        ended=seconds("request_latency"),
        prompt_tokens=count_of(metrics, "usage_prompt_tokens", "value")
        or count_of(metrics, "input_sequence_length", "value"),
        tokens=count_of(metrics, "usage_completion_tokens", "value")
        or count_of(metrics, "output_sequence_length", "value"),
        error=str(mapping(line.get("error")).get("message") or "")[:200],
    )
