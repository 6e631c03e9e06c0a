"""`vllm bench serve`, SGLang's `bench_serving`, and TensorRT-LLM's `benchmark_serving`, which is vLLM's.

With `--save-detailed` (vLLM) or `--output-details` (SGLang) the file has lists with one entry for each request.
Read in vLLM 0.32, `benchmarks/serve.py`, and SGLang 0.5.17, `benchmark/serving.py`. vLLM's ITL is the gap between
chunks. SGLang's is that too against an OpenAI API, and shares the gap among the chunk's tokens against its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specwatch_bench.imported.chunks import record_of
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.request_record import RequestRecord
from specwatch_exporters.bench_result import read_bench_result
from specwatch_exporters.bench_rows import read_bench_lines, read_bench_rows
from specwatch_exporters.bench_run import BenchRun, Times
from specwatch_exporters.bodies.fields import count, first_count, number
from specwatch_exporters.json_text import decode
from specwatch_exporters.offline_counts import read_offline_counts

SGLANG = "SGLang bench_serving"
ROWS = "rows"
OFFLINE = "offline example"
_LIFETIME = "its accept length is the server's since its start: the warm-up and earlier runs are in it"
_NO_STARTS = "it is not known when each request was sent: no throughput over time, and no cells"


def read_serving_text(text: str) -> tuple[ImportedRun, ...]:
    """Runs of the text that these clients print; empty if there is none."""
    tool = SGLANG if "#Input tokens" in text or "Backend: " in text else "vllm bench serve"
    runs = read_bench_result(text)
    if not runs:
        return tuple(ImportedRun(tool=OFFLINE, run=run) for run in read_offline_counts(text, bare=True))
    return tuple(ImportedRun(tool=tool, run=run, remarks=_of(tool, run)) for run in runs)


def read_serving_json(text: str) -> tuple[ImportedRun, ...]:
    """Runs of a result file, one object or one a line; empty if it is none."""
    body = decode(text)
    runs = read_bench_lines(text) if body is None else read_bench_rows(body) or read_bench_rows(body, bare=True)
    bodies = [decode(line) for line in text.splitlines() if line.strip()] if body is None else _listed(body)
    return tuple(_imported(run, fields) for run, fields in zip(runs, bodies, strict=False))


def _listed(body: Any) -> list[Any]:
    return body if isinstance(body, list) else [body]


def _imported(run: BenchRun, fields: Mapping[str, Any]) -> ImportedRun:
    tool = _tool(fields)
    records, placed = _records(fields)
    rate = number(fields.get("request_rate"))  # "inf" and "trace" are none
    return ImportedRun(
        tool=tool,
        run=run,
        e2e=_e2e(fields),
        input_tokens=first_count(fields, "total_input_tokens"),
        rate=rate,
        records=records,
        placed=placed,
        remarks=(*_remarks(records, placed=placed), *_of(tool, run)),
    )


def _tool(fields: Mapping[str, Any]) -> str:
    if "total_output_tokens_retokenized" in fields:
        return SGLANG
    if {"batch_size", "overall_throughput"} <= fields.keys():
        return "SGLang bench_one_batch_server"
    return "vllm bench serve" if "tokenizer_id" in fields or "num_prompts" in fields else ROWS


def _e2e(fields: Mapping[str, Any]) -> Times:
    """Named e2el by vLLM, e2e_latency by SGLang."""
    for name in ("e2el", "e2e_latency"):
        found = [number(fields.get(f"{which}_{name}_ms")) or None for which in ("mean", "median", "p99")]
        if any(value is not None for value in found):
            return Times(*found)
    return Times()


def _of(tool: str, run: BenchRun) -> tuple[str, ...]:
    """What SGLang's client takes from elsewhere (0.5.17): the server's mean length."""
    if tool != SGLANG:
        return ()
    return (_LIFETIME,) if run.length is not None else ()


def _remarks(records: Sequence[RequestRecord], *, placed: bool) -> list[str]:
    if not records:
        return []
    shared = any(record.sizes is not None for record in records)
    said = [] if shared else ["chunks are of unknown size: a request's tokens are shared evenly among its chunks"]
    return said if placed else [*said, _NO_STARTS]


def _records(fields: Mapping[str, Any]) -> tuple[tuple[RequestRecord, ...], bool]:
    """One record a request, in the order of sending; and whether it is known when they were sent."""
    lists = [fields.get(name) for name in ("ttfts", "itls", "output_lens")]
    if any(not isinstance(each, list) or not each for each in lists):
        return (), False
    first, gaps, tokens = lists
    size = len(tokens or ())
    said = fields.get("start_times")
    starts = [number(at) for at in said] if isinstance(said, list) else []
    placed = len(starts) == size and all(at is not None for at in starts)
    zero = min((at for at in starts if at is not None), default=0.0)
    made = [
        record_of(
            number,
            sent=(starts[number] or 0.0) - zero if placed else 0.0,
            first=_positive(_at(first, number)),
            gaps=_seconds(_at(gaps, number)),
            ended=_positive(_at(fields.get("latencies"), number)),
            prompt_tokens=count(_at(fields.get("input_lens"), number)),
            tokens=count(_at(tokens, number)),
            error=str(_at(fields.get("errors"), number) or "")[:200],
            shared=_tool(fields) == SGLANG,
        )
        for number in range(size)
    ]
    return tuple(sorted(made, key=lambda record: (record.sent, record.number))), placed


def _at(values: object, index: int) -> Any:
    return values[index] if isinstance(values, list) and index < len(values) else None


def _positive(value: object) -> float | None:
    return number(value) or None


def _seconds(values: object) -> list[float]:
    return [gap for gap in map(number, values if isinstance(values, list) else ()) if gap is not None]
