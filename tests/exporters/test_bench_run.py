"""What follows from the figures of one benchmark run, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bench_run import BenchRun, Times

POSITIVE = st.floats(0.01, 1e6)


@pytest.mark.parametrize(
    ("what", "run", "tokens", "basis"),
    [
        (
            "means at any concurrency",
            BenchRun("r", 32, itl=Times(24.0), tpot=Times(12.0)),
            2.0,
            "mean ITL / mean TPOT",
        ),
        ("medians of different things", BenchRun("r", 32, itl=Times(p50=24.0), tpot=Times(p50=12.0)), None, None),
        (
            "medians of one stream",
            BenchRun("r", 1, itl=Times(p50=24.0), tpot=Times(p50=12.0)),
            2.0,
            "median ITL / me",
        ),
        ("one stream", BenchRun("r", 1, output_tok_s=100.0, itl=Times(p50=20.0)), 2.0, "median ITL x tokens/s"),
        ("many streams", BenchRun("r", 2, output_tok_s=100.0, itl=Times(p50=20.0)), None, None),
        (
            "a mean is better",
            BenchRun("r", 1, output_tok_s=100.0, itl=Times(20.0, 9.0)),
            2.0,
            "mean ITL x tokens/s",
        ),
    ],
)
def test_what_tokens_per_chunk_follow_from(
    what: str, run: BenchRun, tokens: float | None, basis: str | None
) -> None:
    implied = run.implied
    assert (None if implied is None else implied.tokens) == (None if tokens is None else pytest.approx(tokens)), (
        what
    )
    assert implied is None or (basis is not None and implied.basis.startswith(basis))


@pytest.mark.parametrize(
    ("run", "tokens"),
    [
        (BenchRun("TPOT of a step", 1, output_tok_s=76.9, tpot=Times(30.0), itl=Times(30.0)), 2.307),
        (BenchRun("medians", 1, output_tok_s=76.9, tpot=Times(p50=30.0), itl=Times(p50=30.0)), 2.307),
        (BenchRun("of a token", 1, output_tok_s=76.9, tpot=Times(12.0), itl=Times(30.0)), None),
        (BenchRun("short answers", 1, 100, None, 20.0, 200, None, 10.0, tpot=Times(180.0)), None),
        (BenchRun("lengths that differ", 8, output_tok_s=800.0, tpot=Times(55.0)), None),
        (BenchRun("no throughput", 1, tpot=Times(55.0)), None),
    ],
    ids=lambda value: value.name if isinstance(value, BenchRun) else "",
)
def test_a_tpot_that_the_throughput_leaves_no_time_for_is_a_steps(run: BenchRun, tokens: float | None) -> None:
    """As reported of openvinotoolkit/openvino.genai#3108 and xLLM-AI/xllm#2131; the figures are made up."""
    said = [notice.message for notice in run.notices() if notice.code == "tpot_per_step"]
    assert bool(said) is (tokens is not None)
    if tokens is not None:
        assert run.tpot_tokens == pytest.approx(tokens)
        assert run.itl_counts == "chunk", "ITL / TPOT = 1 would take both for a token's"


@pytest.mark.parametrize(
    ("stated", "tokens", "seconds", "agrees"),
    [
        (2541.04, 952460, 374.83, True),
        (2550.0, 952460, 374.83, False),
        (100.09, 10000, 100.0, True),
        (100.2, 10000, 100.0, False),
        (112.36, 100, 0.89, True),  # 0.894 s, printed with two decimals
        (100.0, None, 100.0, None),
        (None, 100, 1.0, None),
        (100.0, 0, 1.0, None),
    ],
)
def test_throughput_against_its_count(
    stated: float | None, tokens: int | None, seconds: float, agrees: bool | None
) -> None:
    run = BenchRun("r", duration_s=seconds, output_tokens=tokens, output_tok_s=stated)
    assert run.throughput_agrees is agrees
    assert ("throughput_mismatch" in [notice.code for notice in run.notices()]) is (agrees is False)


@pytest.mark.parametrize(
    ("itl_ms", "peak", "counts"),
    [
        (10.0, 120.0, "token"),
        (25.0, 120.0, "chunk"),
        (10.0, 90.0, "chunk"),
        (None, 120.0, None),
        (5.0, 120.0, None),
    ],
)
def test_the_peak_counts_what_itl_counts_and_chunks_below_the_mean(
    itl_ms: float | None, peak: float, counts: str | None
) -> None:
    run = BenchRun("r", 1, output_tok_s=100.0, peak=peak, itl=Times(itl_ms), tpot=Times(10.0))
    assert run.peak_counts == counts
    assert ("peak_per_chunk" in [notice.code for notice in run.notices()]) is (peak < 100)


@pytest.mark.parametrize(
    ("concurrency", "p99", "cold"),
    [(1, 1001.0, True), (1, 1000.0, False), (8, 5000.0, None), (None, 5000.0, None), (1, None, None)],
)
def test_a_cold_start_is_told_at_concurrency_one_only(
    concurrency: int | None, p99: float | None, *, cold: bool | None
) -> None:
    assert BenchRun("r", concurrency, ttft=Times(p50=100.0, p99=p99)).cold_start is cold


@given(gap=POSITIVE, per_token=POSITIVE, concurrency=st.integers(1, 512))
def test_a_corrected_itl_is_the_time_per_token_or_nothing(gap: float, per_token: float, concurrency: int) -> None:
    run = BenchRun("r", concurrency, itl=Times(gap), tpot=Times(per_token))
    corrected = run.itl_corrected_ms
    if run.itl_counts == "chunk":
        assert corrected == pytest.approx(per_token)
    else:
        assert corrected == (gap if run.itl_counts == "token" else None)


def test_a_run_without_a_draft_has_no_acceptance_whatever_it_states() -> None:
    none = BenchRun("r", output_tokens=247913, tally=Tally(0.0, 0.0, 0.0), rate=0.0, length=1.0)
    assert (none.acceptance_rate, none.mean_acceptance_length) == (None, None)
    assert [notice.code for notice in none.notices()] == ["not_drafting"]
    assert [*BenchRun("r", output_tokens=2, tally=Tally(2.0, 4.0, 0.0)).notices()] == []


@pytest.mark.parametrize(
    ("tokens", "requests", "plain", "said"),
    [
        (5376, None, 821, "Over all steps it is 2.96 tokens a step; 4.59 is of those with one"),
        (5376, 90, 731, "Over all steps it is 3.12 tokens a step"),
        (4600, None, 45, None),
        (4500, None, 0, None),  # tokens behind the end were cut
    ],
)
def test_tokens_of_steps_without_a_draft_are_told(
    tokens: int, requests: int | None, plain: float, said: str | None
) -> None:
    """The figures of vllm-project/vllm#24344, whose n-gram drafts come at half of the steps."""
    run = BenchRun("r", requests=requests, output_tokens=tokens, tally=Tally(993.0, 4960.0, 3562.0))
    assert run.plain_tokens == plain
    assert [said in notice.message for notice in run.notices() if said] == ([True] if said else [])
    assert {notice.code for notice in run.notices()} == ({"steps_without_draft"} if said else set())


def test_a_client_that_counts_tokens_which_never_came_is_told_on() -> None:
    run = BenchRun("r", output_tokens=512000, retokenized=231736)
    assert [notice.code for notice in run.notices()] == ["token_counts_differ"]
    assert [*BenchRun("r", output_tokens=1000, retokenized=990).notices()] == []
