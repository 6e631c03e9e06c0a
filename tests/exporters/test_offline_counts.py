"""What offline examples print: counts of vLLM's, lengths of SGLang's."""

from __future__ import annotations

import pytest

from specwatch_exporters.inspection import Content, InspectionError, inspect
from specwatch_exporters.offline_counts import read_offline_counts

# The form and the counts of vllm-project/vllm#26191; the positions are rounded as printed there.
COUNTS = """\
total_num_output_tokens: 16990
num_drafts: 4816
num_draft_tokens: 33712
num_accepted_tokens: 12208
mean acceptance length: 3.53
--------------------------------------------------
acceptance at token 0: 0.72
acceptance at token 1: 0.53
"""
NOW = COUNTS.replace("4816", "5000").replace("33712", "35000")
QUESTIONS = "#questions: 80, Throughput: 234.54 token/s, Acceptance length: 5.88"
AVERAGES = "Average Latency: 92.421 s\nAverage Output throughput: 41.960 token/s\nAverage Accept length: 1.037\n"


@pytest.mark.parametrize("around", ["", "$ python spec_decode.py --method eagle3\n", "INFO 10-04 12:00:01 done\n"])
@pytest.mark.parametrize("indent", ["", "    ", "> "])
def test_counts_give_exact_ratios(around: str, indent: str) -> None:
    text = around + "".join(f"{indent}{line}\n" for line in COUNTS.splitlines())
    (run,) = inspect(Content("x", text.encode())).runs
    assert run.acceptance_rate == pytest.approx(12208 / 33712)
    assert run.mean_acceptance_length == pytest.approx(1 + 12208 / 4816)
    assert run.output_tokens == 16990
    assert run.tally.per_position == pytest.approx((0.72, 0.53))


def test_before_and_after_are_two_runs() -> None:
    runs = inspect(Content("x", f"Previous AL=3.53\n{COUNTS}\nOn main:\n{NOW}".encode())).runs
    assert [(run.name, run.tally.drafts) for run in runs] == [("run 1", 4816), ("run 2", 5000)]


@pytest.mark.parametrize(
    ("text", "speed", "length"),
    [(QUESTIONS, 234.54, 5.88), (AVERAGES, 41.96, 1.037), ("mean acceptance length: 2.50\n", None, 2.5)],
)
def test_a_length_alone_is_a_run_of_unknown_rate(text: str, speed: float | None, length: float) -> None:
    (run,) = inspect(Content("x", text.encode())).runs
    assert (run.output_tok_s, run.mean_acceptance_length, run.acceptance_rate) == (speed, length, None)


def test_a_log_that_says_a_length_in_passing_stays_a_log() -> None:
    line = "[2025-11-19 15:25:25] Decode batch, #running-req: 1, #token: 353, accept len: 1.05, #queue-req: 0"
    report = inspect(Content("x", f"{AVERAGES}{line}\n".encode()))
    assert report.source == "log"


def test_other_words_are_none() -> None:
    assert read_offline_counts("num_drafts_per_pos: 3\nacceptance at token 0: 0.7\n", bare=True) == ()


def test_zeros_of_a_run_that_drafted_nothing_are_unknown() -> None:
    """The figures of vllm-project/vllm#30319, whose engine had forgotten to hand its drafts on."""
    zeros = COUNTS.replace("4816", "0").replace("33712", "0").replace("12208", "0").replace("3.53", "1.00")
    report = inspect(Content("x", zeros.encode()))
    (run,) = report.runs
    assert (run.tally.drafts, run.acceptance_rate, run.mean_acceptance_length) == (0, None, None)
    assert [notice.code for notice in report.notices] == ["not_drafting"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "| Metric | avg |\n|---|---|\n| Time to First Token (ms) | 49.26 |\n",
            "specwatch bench import may read it",
        ),
        ("[RANK 0] iter = 259, global_rank = 0, rank = 0, host_step_time = 7.4ms", "its /metrics and /prometheus"),
        ("hello", "or a benchmark's result"),
    ],
)
def test_what_cannot_be_read_points_at_what_can(text: str, words: str) -> None:
    with pytest.raises(InspectionError, match=rf"{words}[^;]*$"):
        inspect(Content("x", text.encode()))
