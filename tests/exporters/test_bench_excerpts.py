"""Benchmark results as they stand in logs, reports and tables: excerpts, with other words around them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specwatch_exporters.bench_run import BenchRun
from specwatch_exporters.inspection import Content, inspect

# Made-up figures in the block of vLLM 0.32.
BLOCK = """\
============ Serving Benchmark Result ============
Successful requests:                     1000
Benchmark duration (s):                  100.00
Total generated tokens:                  1024000
Output token throughput (tok/s):         10240.00
Peak output token throughput (tok/s):    12000.00
Mean TTFT (ms):                          200.00
Mean TPOT (ms):                          10.00
P99 TPOT (ms):                           15.00
Mean ITL (ms):                           20.00
Acceptance rate (%):                     50.00
Drafts:                                  1000
Draft tokens:                            3000
Accepted tokens:                         1500
  Position 0:                            80.00
  Position 1:                            50.00
==================================================
"""
# The table is of the form of a comparison in vllm-project/vllm#48892; its figures are made up.
TABLE = """\
Results:

| Metric | MTP 1 | **MTP 8** | Δ |
|:---|---:|---:|---|
| Benchmark duration (s) | 200.0 | 100.0 | -50.0% |
| Output token throughput (tok/s) | 1,500.25 | 3000.5 | +100.0% (better) |
| Median TPOT (ms) | 30.0 | 15.0 | -15.0 |
| Median ITL (ms) | 22.40 | 159.60 | +612.5% (worse) |
| Acceptance rate (%) | 80.0 | 40.0 | -40.00 pts |
| Acceptance length | 1.80 | 4.20 | |
| Per-position acceptance (%) - Pos 0 | 80.0 | 75.0 | |
"""


def runs_of(text: str) -> tuple[BenchRun, ...]:
    return inspect(Content("x", text.encode())).runs


def each_line(change: Callable[[str], str]) -> str:
    return "".join(f"{change(line)}\n" for line in BLOCK.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        each_line(lambda line: f"2026-04-01T10:00:00.123456789Z stdout F {line}"),
        each_line(lambda line: f"(BenchClient pid=12) INFO 04-01 10:00:00 [serve.py:9] {line}"),
        each_line(lambda line: f"bench-client-0  | {line}"),
        each_line(lambda line: f"# {line}"),
        each_line(lambda line: f"| {line} |"),
        each_line(lambda line: f"\x1b[32m{line}\x1b[0m"),
        BLOCK.replace("1024000", "1,024,000").replace("10240.00", "10,240.00"),
        BLOCK.replace("\n", "\r\n"),
        BLOCK.partition("\n")[2],
    ],
)
def test_a_block_is_read_whatever_stands_around_its_lines(text: str) -> None:
    (run,) = runs_of(text)
    assert (run.requests, run.output_tokens, run.output_tok_s, run.peak) == (1000, 1024000, 10240.0, 12000.0)
    assert (run.ttft.mean, run.tpot.mean, run.tpot.p99, run.itl.mean) == (200.0, 10.0, 15.0, 20.0)
    assert (run.acceptance_rate, run.mean_acceptance_length) == (0.5, 2.5)
    assert run.tally.per_position == (0.8, 0.5)


def test_an_excerpt_without_its_title_needs_a_latency() -> None:
    (run,) = runs_of("Output token throughput (tok/s):  100.00\nMean TPOT (ms):  9.50\n")
    assert (run.output_tok_s, run.tpot.mean) == (100.0, 9.5)


def test_the_columns_of_a_table_are_runs() -> None:
    one, eight = runs_of(TABLE)
    assert (one.name, one.duration_s, one.output_tok_s, one.tpot.p50) == ("MTP 1", 200.0, 1500.25, 30.0)
    assert (eight.name, eight.itl.p50, eight.acceptance_rate, eight.length) == ("MTP 8", 159.6, 0.4, 4.2)


def test_a_table_of_other_things_is_no_run() -> None:
    assert not runs_of(f"{BLOCK}| Metric | a |\n|---|---|\n| Mean TTFT (ms) | 5 |\n")[1:]


def test_both_counts_of_tokens_are_kept() -> None:
    text = BLOCK.replace("Output token", "Total generated tokens (retokenized):  900000\nOutput token", 1)
    assert [(run.output_tokens, run.retokenized) for run in runs_of(text)] == [(1024000, 900000)]


def test_the_speculative_part_of_a_block_is_read_by_itself() -> None:
    """As quoted in vllm-project/vllm#48892, for two depths one after the other."""
    part = (
        "---------------Speculative Decoding---------------\nAcceptance rate (%):                     {:.2f}\n"
        "Drafts:                                  {}\nDraft tokens:                            {}\n"
        "Accepted tokens:                         {}\n==================================================\n"
    )
    one, eight = runs_of(part.format(83.39, 26407, 26407, 22021) + part.format(43.71, 11043, 88344, 38611))
    assert [one.mean_acceptance_length, eight.mean_acceptance_length] == pytest.approx([1.8339, 4.4964], abs=1e-4)
    assert eight.acceptance_rate == pytest.approx(0.43705, abs=1e-5)


# The form and a row of vllm-project/vllm#12841: runs in rows, without outer bars.
ROWS = """\
Input/Output Length | QPS | Benchmark duration (s) | Total generated tokens | Mean TPOT (ms) | Mean ITL (ms)
-- | -- | -- | -- | -- | --
1024/200 | 1 | 116.95 | 20000 | 66.76 | 213.26
1024/200 | 2 | 69.54 | 20000 | 85.47 | 265.31
"""


def test_labels_may_stand_in_the_head_of_a_table() -> None:
    runs = runs_of(f"Results:\n{ROWS}\n")
    assert [run.name for run in runs] == ["1024/200, QPS 1", "1024/200, QPS 2"]
    assert [run.counted_tok_s for run in runs] == [pytest.approx(20000 / 116.95), pytest.approx(20000 / 69.54)]
    assert runs[0].implied is not None
    assert runs[0].implied.tokens == pytest.approx(213.26 / 66.76)


def test_a_table_cut_before_its_latencies_is_read() -> None:
    short = "\n".join((*TABLE.splitlines()[:6], "| Total generated tokens | 300050 | 300050 | 0 |"))
    assert [run.output_tok_s for run in runs_of(short)] == [1500.25, 3000.5]
