"""Which benchmark wrote a file, and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from specwatch_bench.bench_error import BenchError
from specwatch_bench.imported.aiperf_results import is_aiperf, read_aiperf
from specwatch_bench.imported.genai_perf_results import TOOL as GENAI_PERF
from specwatch_bench.imported.genai_perf_results import is_perf_analyzer, read_perf_analyzer
from specwatch_bench.imported.guidellm_results import is_guidellm, read_guidellm
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.inference_perf_results import is_inference_perf, read_inference_perf
from specwatch_bench.imported.perf_table import read_perf_tables
from specwatch_bench.imported.serving_results import read_serving_json, read_serving_text
from specwatch_bench.imported.trtllm_bench_results import is_trtllm_bench, read_trtllm_bench
from specwatch_bench.imported.trtllm_bench_text import read_trtllm_bench_text
from specwatch_exporters.json_text import decode
from specwatch_exporters.runs import read_runs

KNOWN: Final = (
    "vllm bench serve, SGLang bench_serving, benchmark_serving, AIPerf, GuideLLM, inference-perf, GenAI-Perf, "
    "Perf Analyzer, trtllm-bench"
)
_TOLD_APART: Final = (
    (
        {"elapsed_time", "total_num_tokens"},
        "vllm bench throughput counts prompt and output tokens together: nothing of output alone is in it",
    ),
    ({"avg_latency", "latencies"}, "vllm bench latency keeps the times of whole batches, and no tokens"),
)
_REQUESTS = "profile_export.jsonl"


def read_results(path: Path) -> list[ImportedRun]:
    """Runs of a file, or of AIPerf's folder.

    Raises:
        BenchError: it cannot be read, or no known benchmark wrote it.
    """
    summary = path / "profile_export_aiperf.json" if path.is_dir() else path
    text = _text(summary)
    body = decode(text)
    runs = _of_object(body, summary) if isinstance(body, dict) else []
    runs = runs or list(read_serving_json(text)) or _printed(text)
    if not runs:
        raise BenchError(f"{summary}: {_why_none(body)}")
    return runs


def _why_none(body: object) -> str:
    if read_runs(body) is not None:
        return "rows of a comparison, and no runs; `specwatch inspect` reads them"
    fields = body.keys() if isinstance(body, dict) else set()
    known = (why for names, why in _TOLD_APART if names <= fields)
    return next(known, f"no figures of a benchmark in it; known are {KNOWN}")


def _printed(text: str) -> list[ImportedRun]:
    """Runs of what a tool printed."""
    return [*read_serving_text(text), *read_trtllm_bench_text(text), *read_perf_tables(text)]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BenchError(f"{path}: cannot be read: {why}") from error


def _of_object(body: Mapping[str, Any], path: Path) -> list[ImportedRun]:
    if is_aiperf(body):
        if "aiperf_version" not in body:
            return [read_aiperf(body, tool=GENAI_PERF)]
        requests = path.with_name(_REQUESTS)
        return [read_aiperf(body, _text(requests) if requests.is_file() else None)]
    if is_guidellm(body):
        return read_guidellm(body)
    if is_inference_perf(body):
        return [read_inference_perf(body, path.stem)]
    if is_trtllm_bench(body):
        return [read_trtllm_bench(body)]
    return read_perf_analyzer(body) if is_perf_analyzer(body) else []
