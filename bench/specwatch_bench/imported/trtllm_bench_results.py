"""`trtllm-bench`: the object of `--report_json` (TensorRT-LLM 1.x, `bench/dataclasses/reporting.py`).

It measures inside one process, without HTTP: its latencies are shorter than any client's. Its TPOT is a request's
time per token after the first. Without streaming it has neither TTFT nor TPOT. Its acceptance statistics are means
over requests, not over steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_exporters.bench_run import BenchRun, Times
from specwatch_exporters.bodies.fields import count, mapping, name, number

TOOL = "trtllm-bench"
_NO_CLIENT = "measured in the engine's process, without HTTP: latencies are shorter than a client's"
_BY_REQUEST = "its acceptance length is the mean over requests, not over draft steps"


def is_trtllm_bench(body: Mapping[str, Any]) -> bool:
    """Whether an object is such a report."""
    return "total_latency_ms" in mapping(body.get("performance")) and "request_info" in body


def read_trtllm_bench(body: Mapping[str, Any]) -> ImportedRun:
    """The run of a report."""
    performance, requests = mapping(body.get("performance")), mapping(body.get("request_info"))
    streaming, drafts = mapping(body.get("streaming_metrics")), mapping(body.get("decoding_stats"))
    many, mean_tokens = count(requests.get("num_requests")), number(requests.get("avg_output_length"))
    mean_input, total = number(requests.get("avg_input_length")), number(performance.get("total_latency_ms"))
    length = number(mapping(drafts.get("acceptance_length_percentiles")).get("average"))
    run = BenchRun(
        name=name(mapping(body.get("engine")).get("model")) or TOOL,
        requests=many,
        duration_s=None if total is None else total / 1e3,
        output_tokens=None if many is None or mean_tokens is None else round(many * mean_tokens),
        output_tok_s=number(performance.get("system_output_throughput_tok_s")),
        ttft=_times(streaming.get("ttft_percentiles")),
        tpot=_times(streaming.get("tpot_percentiles")),
        length=length,
    )
    return ImportedRun(
        tool=TOOL,
        run=run,
        e2e=_times(performance.get("request_latency_percentiles_ms")),
        input_tokens=None if many is None or mean_input is None else round(many * mean_input),
        remarks=(_NO_CLIENT, _BY_REQUEST) if length else (_NO_CLIENT,),
    )


def _times(percentiles: object) -> Times:
    """Milliseconds; the report holds each percentile in nanoseconds by alias, and in milliseconds by name."""
    found = mapping(percentiles)
    return Times(number(found.get("average")), number(found.get("p50")), number(found.get("p99")))
