"""What benchmarks print, as it stands in reports of others: figures by label, whatever stands around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from specwatch_bench.bench_error import BenchError
from specwatch_bench.imported.import_view import usd_per_million
from specwatch_bench.imported.imported_run import ImportedRun
from specwatch_bench.imported.results_file import read_results

# Made-up figures in the forms that the tools print.
TRTLLM = """
===========================================================
= REQUEST DETAILS
===========================================================
Number of requests:             100
Number of concurrent requests:  31.5
Average Input Length (tokens):  128.0000
Average Output Length (tokens): 64.0000
===========================================================
= WORLD + RUNTIME INFORMATION
===========================================================
Issue Rate (req/sec):   1.0526E+15

===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Request Throughput (req/sec):                     50.0000
Total Output Throughput (tokens/sec):             3200.0000
Total Token Throughput (tokens/sec):              9600.0000
Total Latency (ms):                               2000.0000
Average request latency (ms):                     500.0000
Average time-to-first-token [TTFT] (ms):          20.0000
Average time-per-output-token [TPOT] (ms):        6.0000

-- Per-Request Time-per-Output-Token [TPOT] Breakdown (ms)

[TPOT] MINIMUM: 1.0000
[TPOT] AVERAGE: 6.0000
[TPOT] P50    : 5.0000
[TPOT] P99    : 9.0000

[TTFT] P50    : 19.0000
[TTFT] P99    : 40.0000

[Latency] P50    : 480.0000
[Latency] P99    : 900.0000

-- Acceptance Length Details --------------------------------

[AL] AVERAGE: 2.5000
"""
AIPERF = """
                     NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
┃                    Metric ┃      avg ┃   min ┃      p99 ┃      p50 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
│  Time to First Token (ms) │    18.26 │ 11.22 │   106.32 │    15.00 │
│      Request Latency (ms) │ 1,024.50 │  9.70 │ 2,000.00 │ 1,000.00 │
│  Inter Token Latency (ms) │    11.23 │  8.80 │    13.17 │    11.00 │
│  Inter Chunk Latency (ms) │    28.08 │  8.80 │    50.00 │    27.00 │
│   Output Token Throughput │   100.00 │   N/A │      N/A │      N/A │
│              (tokens/sec) │          │       │          │          │
│  Request Count (requests) │    64.00 │   N/A │      N/A │      N/A │
└───────────────────────────┴──────────┴───────┴──────────┴──────────┘
"""
GENAI = """
NVIDIA GenAI-Perf | LLM Metrics
┃                Statistic ┃   avg ┃   min ┃   max ┃   p99 ┃   p90 ┃
│ Time to first token (ms) │ 16.26 │ 12.39 │ 17.25 │ 17.09 │ 16.68 │
│ Inter token latency (ns) │ 1,850,000 │ 1 │ 2 │ 2,000,000 │ 1 │
│ Output token throughput (per sec) │ 520.87 │ N/A │ N/A │ N/A │ N/A │
"""


def read(folder: Path, text: str) -> list[ImportedRun]:
    path = folder / "printed.txt"
    path.write_text(text)
    return read_results(path)


def test_the_block_of_trtllm_bench(tmp_path: Path) -> None:
    (found,) = read(tmp_path, TRTLLM)
    run = found.run
    assert (found.tool, run.requests, run.output_tokens, run.output_tok_s) == ("trtllm-bench", 100, 6400, 3200.0)
    assert run.throughput_agrees
    assert (run.ttft.mean, run.ttft.p50, run.ttft.p99) == (20.0, 19.0, 40.0)
    assert (run.tpot.mean, run.tpot.p50, run.tpot.p99) == (6.0, 5.0, 9.0)
    assert (found.e2e.mean, found.e2e.p99) == (500.0, 900.0)
    assert run.mean_acceptance_length == 2.5
    assert usd_per_million(found, 2.0, 1) == pytest.approx(2.0 / 3200 / 3600 * 1e6)
    assert any("without HTTP" in said for said in found.said)
    assert any("mean over requests" in said for said in found.said)


def test_an_overview_alone_and_two_blocks(tmp_path: Path) -> None:
    alone = TRTLLM[TRTLLM.index("= PERFORMANCE OVERVIEW") :]
    (found,) = read(tmp_path, alone)
    assert (found.run.requests, found.run.output_tok_s) == (None, 3200.0)
    first, second = read(tmp_path, TRTLLM + TRTLLM.replace("requests:             100", "requests:             50"))
    assert (first.run.requests, second.run.requests) == (100, 50)


def test_the_table_of_aiperf(tmp_path: Path) -> None:
    (found,) = read(tmp_path, AIPERF)
    run = found.run
    assert (found.tool, run.requests, run.output_tok_s) == ("AIPerf", 64, 100.0)
    assert (run.ttft.p50, run.ttft.p99, run.tpot.p99, found.e2e.p50) == (15.0, 106.32, 13.17, 1000.0)
    assert run.implied is not None
    assert run.implied.tokens == pytest.approx(2.5, abs=0.01)
    assert run.itl_counts == "chunk"
    assert any("tokens are those of its own tokenizer" in said for said in found.said)


def test_the_table_of_genai_perf(tmp_path: Path) -> None:
    (found,) = read(tmp_path, GENAI)
    assert (found.tool, found.run.ttft.p99, found.run.ttft.p50) == ("GenAI-Perf", 17.09, None)
    assert found.run.tpot.mean == pytest.approx(1.85)
    assert found.run.tpot.p99 == pytest.approx(2.0)
    assert found.run.output_tok_s == 520.87


def test_a_table_in_markdown(tmp_path: Path) -> None:
    text = "| Metric | avg |\n|---|---|\n| Time to First Token (ms) | 24.44 |\n"
    text += "| Output Token Throughput (tokens/sec) | 67.00 |\n"
    (found,) = read(tmp_path, text)
    assert (found.run.ttft.mean, found.run.output_tok_s) == (24.44, 67.0)


def test_sglangs_printed_accept_length_is_the_servers(tmp_path: Path) -> None:
    text = (
        "============ Serving Benchmark Result ============\nBackend:                       sglang\n"
        "Successful requests:           10\nBenchmark duration (s):        10.00\n"
        "Total generated tokens:        1000\nOutput token throughput (tok/s): 100.00\n"
        "Accept length:                 2.90\nMean TTFT (ms):                5.00\n"
    )
    (found,) = read(tmp_path, text)
    assert found.run.mean_acceptance_length == 2.9
    assert any("accept length is the server's" in said for said in found.said)


def test_what_aiperf_prints_of_speculation_belongs_to_the_table_before(tmp_path: Path) -> None:
    text = AIPERF + "NVIDIA AIPerf | LLM Metrics: Spec Decode\n┃ Metric ┃ avg ┃ p50 ┃\n"
    text += "│ Acceptance Length (tokens/step) │ 2.46 │ 2.40 │\n│ Spec Decode Steps (count) │ 43.00 │ 40.00 │\n"
    (found,) = read(tmp_path, text)
    assert (found.run.ttft.p50, found.run.mean_acceptance_length) == (15.0, 2.46)


def test_a_table_of_several_workloads_is_a_run_for_each(tmp_path: Path) -> None:
    """The form of tenstorrent/tt-inference-server#3699, with its figures."""
    text = "| Metric | coding avg | rag avg |\n|---|---|---|\n| Time to First Token (ms) | 46.13 | 117.32 |\n"
    text += "| Request Latency (ms) | 7,068.91 | 3,358.01 |\n| Inter Token Latency (ms) | 15.60 | 16.42 |\n"
    text += "| acceptance_rate | 0.589 | 0.000 |\n"
    coding, rag = read(tmp_path, text)
    assert (coding.run.acceptance_rate, rag.run.acceptance_rate) == (0.589, None)  # a run without speculation
    assert (coding.run.name, coding.run.ttft.mean, coding.e2e.mean) == ("coding", 46.13, 7068.91)
    assert (rag.run.name, rag.run.tpot.mean) == ("rag", 16.42)


def test_a_table_without_a_mean_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(BenchError):
        read(tmp_path, "| Metric | before | after |\n|---|---|---|\n| Time to First Token (ms) | 1 | 2 |\n")
