"""inference-perf (kubernetes-sigs, 2026): `summary_lifecycle_metrics.json`, and the same of each stage.

It counts output tokens with a tokenizer of its own unless it was told to use the engine's, and makes throughput and
times a token from that count. Newer releases write the engine's count beside it; where the two differ, it decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_exporters.acceptance import ratio
from specwatch_exporters.bench_run import BenchRun, Times
from specwatch_exporters.bodies.fields import count, mapping, number

TOOL: Final = "inference-perf"
_MILLI: Final = 1e3
_SAME: Final = 0.01


def is_inference_perf(body: Mapping[str, Any]) -> bool:
    """Whether an object is such a report."""
    succeeded = mapping(body.get("successes"))
    return isinstance(succeeded.get("latency"), dict) and isinstance(succeeded.get("throughput"), dict)


def read_inference_perf(body: Mapping[str, Any], name: str) -> ImportedRun:
    """The run of a report; `name` is what to call it."""
    succeeded = mapping(body.get("successes"))
    latency, rates = mapping(succeeded.get("latency")), mapping(succeeded.get("throughput"))
    many = count(succeeded.get("count"))
    counted, engine = _total(succeeded.get("output_len"), many), _total(succeeded.get("output_tokens"), many)
    differ = bool(counted and engine and abs(counted / engine - 1.0) > _SAME)
    seconds = number(body.get("benchmark_time_seconds")) or ratio(many, number(rates.get("requests_per_sec")))
    run = BenchRun(
        name=name,
        concurrency=count(mapping(body.get("load_summary")).get("concurrency")) or None,
        requests=many,
        failed=count(mapping(body.get("failures")).get("count")),
        duration_s=seconds,
        output_tokens=engine or counted,
        output_tok_s=ratio(engine, seconds) if differ else number(rates.get("output_tokens_per_sec")),
        ttft=_times(latency.get("time_to_first_token")),
        tpot=Times() if differ else _times(latency.get("time_per_output_token")),
        itl=Times() if differ else _times(latency.get("inter_token_latency")),
    )
    return ImportedRun(
        tool=TOOL,
        run=run,
        e2e=_times(latency.get("request_latency")),
        input_tokens=_total(succeeded.get("prompt_tokens"), many) or _total(succeeded.get("prompt_len"), many),
        rate=number(mapping(body.get("load_summary")).get("requested_rate")),
        remarks=tuple(_remarks(counted, engine, differ=differ)),
    )


def _remarks(counted: int | None, engine: int | None, *, differ: bool) -> list[str]:
    if differ:
        counts = f"its tokenizer counts {counted} output tokens, the engine {engine}"
        return [f"{counts}: throughput is made from the engine's count, and times a token are left out"]
    return [] if engine else ["tokens are those of its own tokenizer: the engine's count is not in the file"]


def _total(tokens: object, many: int | None) -> int | None:
    """Tokens of all requests: as told, or from their mean."""
    told = mapping(tokens)
    total, mean = number(told.get("total")), number(told.get("mean"))
    if total is None and mean is not None and many is not None:
        total = mean * many
    return None if not total else round(total)


def _times(seconds: object) -> Times:
    told = mapping(seconds)
    p50 = told.get("median") if told.get("median") is not None else told.get("p50")
    values = (number(told.get("mean")), number(p50), number(told.get("p99")))
    return Times(*(None if value is None else value * _MILLI for value in values))
