"""Forms of other tools and versions, with made-up figures, and what is said of a file without a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specwatch_bench.bench_error import BenchError
from specwatch_bench.imported.import_view import usd_per_million
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.results_file import read_results
from specwatch_exporters.bench_run import Times


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def of(body: object) -> list[ImportedRun]:
        path = tmp_path / "stage_0_lifecycle_metrics.json"
        path.write_text(body if isinstance(body, str) else json.dumps(body))
        return read_results(path)

    return of


def statistics(mean: float, median: float, p99: float, **more: float) -> dict[str, Any]:
    return {"successful": {"mean": mean, "median": median, "percentiles": {"p99": p99}, **more}}


GUIDELLM_METRICS = {
    "output_token_count": statistics(200, 200, 200, total_sum=20000.0),
    "time_to_first_token_ms": statistics(40, 39, 60),
    "time_per_output_token_ms": statistics(7.5, 7.4, 9),
    "inter_token_latency_ms": statistics(7.3, 7.2, 8.9),
}
MADE = {"successful": 100, "errored": 2, "incomplete": 0, "total": 102}
STREAMS = {"strategy": {"type_": "concurrent", "streams": 8}}


@pytest.mark.parametrize(
    "report",
    [
        {  # 0.2 to 0.5
            "benchmarks": [
                {
                    "args": STREAMS,
                    "run_stats": {"start_time": 1.0, "end_time": 11.0, "requests_made": MADE},
                    "metrics": GUIDELLM_METRICS,
                }
            ]
        },
        {  # 0.6
            "metadata": {"version": 1, "guidellm_version": "0.6.0"},
            "benchmarks": [
                {"config": STREAMS, "duration": 10.0, "metrics": {**GUIDELLM_METRICS, "request_totals": MADE}}
            ],
        },
    ],
    ids=["0.5", "0.6"],
)
def test_earlier_reports_of_guidellm_are_read_for_their_statistics(read: Any, report: dict[str, Any]) -> None:
    (found,) = read(report)
    run = found.run
    assert (found.tool, run.name, run.concurrency) == ("GuideLLM", "concurrent 1", 8)
    assert (run.requests, run.failed, run.duration_s, run.output_tok_s) == (100, 2, 10.0, 2000.0)
    assert run.tpot == Times(7.3, 7.2, 8.9), "not what it calls time per output token, which has TTFT in it"
    assert not any("sample" in remark for remark in found.remarks)


def inference_perf(**more: Any) -> dict[str, Any]:
    latency = {
        "time_to_first_token": {"mean": 0.04, "median": 0.039, "p99": 0.06},
        "time_per_output_token": {"mean": 0.0073, "median": 0.0072, "p99": 0.009},
        "inter_token_latency": {"mean": 0.02, "median": 0.019, "p99": 0.04},
        "request_latency": {"mean": 1.5, "median": 1.4, "p99": 2.0},
    }
    rates = {"output_tokens_per_sec": 2000.0, "requests_per_sec": 10.0}
    told = {"count": 100, "latency": latency, "throughput": rates, "output_len": {"mean": 200.0}, **more}
    return {"load_summary": {"requested_rate": 10.0}, "successes": told, "failures": {"count": 3}}


def test_inference_perf_is_in_seconds_and_its_gaps_are_of_chunks(read: Any) -> None:
    (found,) = read(inference_perf())
    run = found.run
    assert (found.tool, run.name, found.rate) == ("inference-perf", "stage_0_lifecycle_metrics", 10.0)
    assert (run.requests, run.failed, run.output_tokens, run.duration_s) == (100, 3, 20000, 10.0)
    assert (run.ttft.p50, run.tpot.mean, found.e2e.p99) == (39.0, pytest.approx(7.3), 2000.0)
    assert run.itl_counts == "chunk"
    assert "the engine's count is not in the file" in found.remarks[0]
    assert usd_per_million(found, 2.0, 1) == pytest.approx(2.0 / 2000 / 3600 * 1e6)


def test_the_engines_count_decides_where_inference_perfs_own_differs(read: Any) -> None:
    (found,) = read(inference_perf(output_tokens={"total": 11292.0}))
    assert (found.run.output_tokens, found.run.output_tok_s) == (11292, 1129.2)
    assert (found.run.tpot, found.run.itl) == (Times(), Times())
    assert "its tokenizer counts 20000 output tokens, the engine 11292" in found.remarks[0]


ONE_BATCH = {
    "run_name": "default",
    "batch_size": 16,
    "input_len": 1024,
    "output_len": 512,
    "latency": 4.0,
    "output_throughput": 2200.0,
    "overall_throughput": 6144.0,
    "last_ttft": 0.3,
    "acc_length": 2.81,
}


def test_one_batch_is_priced_by_its_tokens_and_the_whole_time(read: Any) -> None:
    (found,) = read(json.dumps(ONE_BATCH) + "\n")
    run = found.run
    assert (found.tool, run.concurrency, run.output_tokens) == ("SGLang bench_one_batch_server", 16, 8192)
    assert (run.counted_tok_s, run.ttft.p50, run.length) == (2048.0, 300.0, 2.81)
    assert usd_per_million(found, 2.0, 1) == pytest.approx(2.0 / 2048 / 3600 * 1e6)
    assert [notice.code for notice in run.notices()] == ["throughput_mismatch"]


def test_tensorrt_llms_client_tells_tokens_per_iteration(read: Any) -> None:
    fields = {
        "num_prompts": 9,
        "duration": 10.0,
        "total_output_tokens": 100,
        "mean_avg_decoded_tokens_per_iter": 2.57,
    }
    (found,) = read(fields)
    assert found.run.mean_acceptance_length == 2.57


@pytest.mark.parametrize(
    ("row", "usd"),
    [
        ({"tok_s": 250.0}, 2.0 / 250 / 3600 * 1e6),
        # Time, tokens and price as reported in allenai/olmocr#249: $16.44 for a million, and not the $12,000 that a
        # million pages cost.
        ({"duration_s": 32.82, "output_tokens": 2190}, 2.0 * 32.82 / 3600 / 2190 * 1e6),
    ],
)
def test_a_throughput_alone_has_a_price(read: Any, row: dict[str, float], usd: float) -> None:
    (found,) = read(row)
    assert usd_per_million(found, 2.0, 1) == pytest.approx(usd)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"elapsed_time": 9.0, "num_requests": 9, "total_num_tokens": 900, "tokens_per_second": 100.0}, "together"),
        ({"avg_latency": 1.2, "latencies": [1.2], "percentiles": {"50": 1.2}}, "whole batches"),
        ([{"config": "a", "concurrency": 1, "wall_s": 3.0}], "specwatch inspect"),
        ({"a": 1}, "known are"),
    ],
)
def test_a_file_without_a_run_is_told_why(read: Any, body: object, words: str) -> None:
    with pytest.raises(BenchError, match=words):
        read(body)
