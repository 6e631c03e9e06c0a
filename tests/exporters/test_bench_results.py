"""Results of benchmarks: what their clients print and save, per token (cases 56 and 57)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.inspection import Content, InspectionError, inspect
from specwatch_exporters.report import Report

CASES = Path(__file__).parent.parent / "cases"
CASE_56 = CASES / "56-vllm-bench-peak-below-mean"
CASE_57 = CASES / "57-itl-per-chunk-and-cross-check"
BENCH_TEXT = (CASE_56 / "bench.txt").read_text()

# Values of a run with speculation, in the form of vLLM 0.32.
SPECULATION = """\
---------------Speculative Decoding---------------
Acceptance rate (%):                     56.00
Acceptance length:                       2.68
Drafts:                                  1000
Draft tokens:                            3000
Accepted tokens:                         1680
Per-position acceptance (%):
  Position 0:                            78.00
  Position 1:                            55.00
  Position 2:                            35.00
"""
VLLM_JSON = {
    "date": "20260318-154232",
    "backend": "openai-chat",
    "label": "openai-chat",
    "model_id": "m",
    "num_prompts": 1000,
    "request_rate": "inf",
    "max_concurrency": 64,
    "duration": 100.0,
    "completed": 998,
    "failed": 2,
    "total_input_tokens": 127000,
    "total_output_tokens": 300000,
    "output_throughput": 3000.0,
    "max_output_tokens_per_s": 3300.0,
    "mean_ttft_ms": 49.2,
    "median_ttft_ms": 48.8,
    "p99_ttft_ms": 77.8,
    "mean_tpot_ms": 10.0,
    "median_tpot_ms": 9.0,
    "p99_tpot_ms": 15.0,
    "mean_itl_ms": 25.0,
    "median_itl_ms": 24.0,
    "p99_itl_ms": 40.0,
    "spec_decode_acceptance_rate": 50.0,
    "spec_decode_acceptance_length": 2.5,
    "spec_decode_num_drafts": 100,
    "spec_decode_draft_tokens": 300,
    "spec_decode_accepted_tokens": 150,
    "spec_decode_per_position_acceptance_rates": [0.75, 0.5, 0.25],
}
SGLANG_JSON = {
    "tag": None,
    "backend": "sglang",
    "dataset_name": "random",
    "max_concurrency": 1,
    "duration": 50.0,
    "completed": 20,
    "total_output_tokens": 10000,
    "output_throughput": 200.0,
    "concurrency": 0.99,
    "accept_length": 3.1,
    "mean_ttft_ms": 30.0,
    "median_ttft_ms": 25.0,
    "p99_ttft_ms": 60.0,
    "mean_tpot_ms": 4.9,
    "median_tpot_ms": 4.8,
    "p99_tpot_ms": 6.0,
    "mean_itl_ms": 4.9,
    "median_itl_ms": 4.7,
    "p99_itl_ms": 9.0,
}


def report_of(text: str) -> Report:
    return inspect(Content("source", text.encode()))


def runs_of(text: str) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = report_of(text).to_json()["runs"]
    return runs


def codes(text: str) -> list[str]:
    return [notice.code for notice in report_of(text).notices]


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_56_times_as_given_and_tokens_per_chunk() -> None:
    (run,), wanted = runs_of(BENCH_TEXT), read(CASE_56 / "expected.json")
    assert [run["ttft_ms"]["p50"], run["ttft_ms"]["p99"]] == wanted["ttft"]
    assert [run["tpot_ms"]["p50"], run["tpot_ms"]["p99"]] == wanted["tpot"]
    assert run["tokens_per_chunk"] == pytest.approx(wanted["tokens_per_chunk"], abs=1e-3)
    assert (run["concurrency"], run["requests"], run["failed"]) == (32, 1536, 0)
    assert run["itl_counts"] == "chunk"


def test_56_the_peak_is_chunks_and_the_throughput_is_its_count() -> None:
    (run,) = runs_of(BENCH_TEXT)
    assert (run["peak_tok_s"], run["peak_chunks_s"]) == (None, 1757)
    assert run["counted_tok_s"] == pytest.approx(2541.04, abs=0.01)
    assert run["throughput_agrees"] is True
    assert run["cold_start"] is None, "at concurrency 32 a long TTFT may be waiting"
    assert codes(BENCH_TEXT) == ["itl_per_chunk", "peak_per_chunk"]


def test_57_itl_is_checked_against_the_throughput_of_one_stream() -> None:
    text, wanted = (CASE_57 / "runs.json").read_text(), read(CASE_57 / "expected.json")
    before, after, *_ = runs_of(text)
    assert before["tokens_per_chunk"] == pytest.approx(wanted["tokens_per_chunk"], abs=1e-3)
    assert before["itl_corrected_ms"] == pytest.approx(wanted["itl_corrected_ms"], abs=1e-3)
    assert (after["itl_counts"], after["itl_corrected_ms"]) == ("token", 3.2)


def test_57_rows_are_checked_one_by_one_and_never_compared() -> None:
    report = report_of((CASE_57 / "runs.json").read_text())
    agree = [run.throughput_agrees for run in report.runs]
    assert agree == [None, None, True, True, True]
    counted = [run.counted_tok_s for run in report.runs[2:]]
    assert counted == pytest.approx([1067.83, 183.8, 39.96], rel=1e-3)
    assert [run.cold_start for run in report.runs] == [None, None, None, None, True]
    assert [notice.code for notice in report.notices] == ["itl_per_chunk", "cold_start"]
    assert report.comparisons == ()


def test_what_is_not_given_is_unknown() -> None:
    row = runs_of((CASE_57 / "runs.json").read_text())[3]
    unknown = (
        "tokens_per_chunk",
        "itl_counts",
        "itl_corrected_ms",
        "peak_tok_s",
        "peak_chunks_s",
        "acceptance_rate",
    )
    assert [row[name] for name in unknown] == [None] * len(unknown)
    assert row["ttft_ms"] == {"mean": None, "p50": None, "p99": None}
    assert row["mean_acceptance_length"] == 2.14


def test_lines_may_come_in_any_order_and_the_end_may_be_missing() -> None:
    header, *lines = BENCH_TEXT.splitlines()[:-1]
    (run,) = report_of("\n".join([header, *reversed(lines)])).runs
    assert run == report_of(BENCH_TEXT).runs[0]


def test_missing_lines_are_unknown() -> None:
    kept = [line for line in BENCH_TEXT.splitlines() if "TPOT" not in line and "duration" not in line]
    (run,) = runs_of("\n".join(kept))
    assert run["tpot_ms"] == {"mean": None, "p50": None, "p99": None}
    assert (run["tokens_per_chunk"], run["throughput_agrees"]) == (None, None)
    assert run["ttft_ms"]["p99"] == 1472.66


def test_the_speculative_block_is_read_and_is_no_sample_of_a_page() -> None:
    start, end = BENCH_TEXT.rstrip().rsplit("\n", 1)
    (run,) = runs_of(f"{start}\n{SPECULATION}{end}\n")
    assert (run["drafts"], run["draft_tokens"], run["accepted_tokens"]) == (1000, 3000, 1680)
    assert (run["acceptance_rate"], run["mean_acceptance_length"]) == (0.56, pytest.approx(2.68))
    assert run["per_position"] == pytest.approx([0.78, 0.55, 0.35])


def test_rates_are_as_stated_where_the_counts_are_missing() -> None:
    start, end = BENCH_TEXT.rstrip().rsplit("\n", 1)
    block = "\n".join(line for line in SPECULATION.splitlines() if "rate" in line or "length" in line)
    (run,) = runs_of(f"{start}\n{block}\n{end}\n")
    assert (run["acceptance_rate"], run["mean_acceptance_length"]) == (pytest.approx(0.56), 2.68)
    assert (run["drafts"], run["per_position"]) == (None, [])


def test_more_accepted_than_drafted_is_no_count() -> None:
    (run,) = runs_of(json.dumps({**VLLM_JSON, "spec_decode_accepted_tokens": 301}))
    assert (run["accepted_tokens"], run["per_position"], run["acceptance_rate"]) == (None, [], 0.5)


def test_several_blocks_with_a_log_around_them() -> None:
    lines = BENCH_TEXT.splitlines()
    bare = "\n".join(line for line in lines if "concurrency" not in line)
    text = f"INFO starting\nMaximum request concurrency: 16\n{bare}\nDone: 3\n\x1b[32m{lines[0]}\x1b[0m\n"
    first, second = report_of(text + "\n".join(f"> {line}  " for line in lines[1:])).runs
    assert (first.name, first.concurrency) == ("run 1", 16), "older vLLM says it before the block"
    assert (second.name, second.concurrency, second.itl) == ("run 2", 32, first.itl)


def test_sglangs_block() -> None:
    text = (
        "============ Serving Benchmark Result ============\n"
        "Backend:                                 sglang    \n"
        "Max request concurrency:                 not set   \n"
        "Successful requests:                     1920      \n"
        "Benchmark duration (s):                  213.71    \n"
        "Total generated tokens:                  157031    \n"
        "Total generated tokens (retokenized):    156230    \n"
        "Output token throughput (tok/s):         734.77    \n"
        "Concurrency:                             47.11     \n"
        "Accept length:                           2.75      \n"
        "Median TPOT (ms):                        -0.00     \n"
        "==================================================\n"
    )
    (run,) = report_of(text).runs
    assert (run.concurrency, run.output_tokens, run.length) == (None, 157031, 2.75), "the mean is not the limit"
    assert (run.tpot.p50, run.throughput_agrees) == (None, True)


def test_a_result_that_vllm_saved() -> None:
    (run,) = runs_of(json.dumps(VLLM_JSON))
    assert (run["name"], run["concurrency"], run["requests"], run["failed"]) == ("m", 64, 998, 2)
    assert (run["tokens_per_chunk"], run["itl_corrected_ms"]) == (2.5, 10)
    assert (run["peak_tok_s"], run["peak_chunks_s"]) == (None, 3300), "chunks, though above the mean"
    assert (run["acceptance_rate"], run["mean_acceptance_length"]) == (0.5, 2.5)
    assert run["per_position"] == [0.75, 0.5, 0.25]


def test_results_that_sglang_appended() -> None:
    first, second = runs_of(
        f"{json.dumps(SGLANG_JSON)}\n\n{json.dumps({**SGLANG_JSON, 'max_concurrency': None})}\n"
    )
    assert (first["name"], first["concurrency"], second["concurrency"]) == ("run 1", 1, None)
    assert (first["itl_counts"], first["itl_corrected_ms"]) == ("token", 4.9)
    assert first["mean_acceptance_length"] == 3.1


def test_equal_names_are_told_apart() -> None:
    names = [run["name"] for run in runs_of(json.dumps([VLLM_JSON, {**VLLM_JSON, "label": "k=5"}, VLLM_JSON]))]
    assert names == ["m", "k=5", "m (3)"]


def test_a_zero_is_not_a_measurement() -> None:
    (run,) = runs_of(json.dumps({**VLLM_JSON, "mean_itl_ms": 0.0, "max_output_tokens_per_s": 0.0}))
    assert (run["itl_ms"]["mean"], run["tokens_per_chunk"], run["peak_chunks_s"]) == (None, None, None)


def test_rows_with_a_configuration_are_compared_and_read() -> None:
    rows = [
        {"config": config, "concurrency": 1, "tok_s": rate, "median_itl_ms": 10.0}
        for config, rate in (("no_spec", 100.0), ("eagle3", 250.0))
    ]
    report = report_of(json.dumps(rows))
    assert [(item.config, item.change_pct) for item in report.comparisons] == [("eagle3", (150.0, 150.0))]
    assert [run.itl_counts for run in report.runs] == ["token", "chunk"]


def test_rows_that_are_only_compared_stay_as_they_were() -> None:
    report = report_of((CASES / "34-dynamic-k-collapse/results.json").read_text())
    assert report.comparisons
    assert report.runs == ()


@pytest.mark.parametrize(
    "text",
    [
        '[{"tok_s": 1.0, "concurrency": 1}]',
        '{"median_itl_ms": 3.0}',
        '[{"median_itl_ms": 3.0, "tok_s": 1.0}, 5]',
        '[{"median_itl_ms": "3", "tok_s": true, "concurrency": -1}]',
        '{"median_itl_ms": 3.0, "tok_s": 1.0}\n{"a": 1}',
        "============ Serving Benchmark Result ============\nSuccessful requests: 3\n",
    ],
)
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(InspectionError, match="a benchmark's result"):
        report_of(text)


def test_a_responses_own_mean_itl_stays_a_response() -> None:
    record = {"mean_itl_ms": 3.0, "time_to_first_token_ms": 40.0}
    assert report_of(json.dumps([record, record])).source == "response"


def test_the_options_of_pages_are_refused() -> None:
    with pytest.raises(InspectionError, match=r"--engine is for metrics pages, and this is a benchmark's result"):
        inspect(Content("x", BENCH_TEXT.encode()), engine="vllm")


@given(text=st.text(), cut=st.integers(0, len(BENCH_TEXT)))
def test_any_text_around_or_in_a_block_is_survived(text: str, cut: int) -> None:
    report = report_of(f"{BENCH_TEXT}{BENCH_TEXT[:cut]}{text}\n{BENCH_TEXT[cut:]}")
    assert report.runs
    json.dumps(report.to_json(), allow_nan=False)
