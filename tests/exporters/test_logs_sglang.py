"""SGLang's decode lines: versions, ranks, formulas."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.logs import sglang_log
from specwatch_exporters.logs.read import read_log
from specwatch_exporters.report import ModelReport, Report, State

ARGUMENTS = (
    "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='org/target', served_model_name='chat', "
    "speculative_algorithm='EAGLE3', speculative_num_steps=3, speculative_eagle_topk=1, "
    "speculative_num_draft_tokens=4)"
)


def decode(length: str = "", rate: str = "", *, running: int = 8, ranks: str = "", queued: int = 2) -> str:
    accept = (f"accept len: {length}, " if length else "") + (f"accept rate: {rate}, " if rate else "")
    return (
        f"[2026-07-21 15:00:17{ranks}] Decode batch, #running-req: {running}, #token: 227968, token usage: 0.64, "
        f"{accept}cuda graph: True, gen throughput (token/s): 631.96, #queue-req: {queued}"
    )


def report(*lines: str) -> Report:
    found = read_log("\n".join(lines))
    assert found is not None
    return found


def model(*lines: str) -> ModelReport:
    (only,) = report(*lines).models
    return only


def codes(found: Report) -> set[str]:
    return {notice.code for notice in found.notices}


V0_4 = (
    "[2025-02-27 04:37:29 TP0] Decode batch. #running-req: 8, #token: 67724, token usage: 0.13, "
    "accept len: 3.12, gen throughput (token/s): 183.54, #queue-req: 0"
)
V0_5_4 = (
    "[2025-11-22 10:00:00] Decode batch [440], #running-req: 1, #token: 512, token usage: 0.01, "
    "accept len: 4.00, accept rate: 0.80, cuda graph: True, gen throughput (token/s): 120.00, #queue-req: 0,"
)
V0_5_11 = (
    "[2026-07-21 15:00:17 TP0 EP0] Decode batch, #running-req: 23, #token: 227968, token usage: 0.64, "
    "accept len: 3.05, accept rate: 0.68, npu graph: True, gen throughput (token/s): 631.96, #queue-req: 3"
)
V0_5_23 = (
    "[2026-08-19 00:02:25 DP0 TP0] Decode batch, #running-req: 4, #full token: 1, full token usage: 0.00, "
    "mamba num: 1, mamba usage: 0.10, accept len: 3.00, accept rate: 0.40, cap len: 5.10, "
    "block accept len: 3.30, cuda graph: True, gen throughput (token/s): 40.29, #queue-req: 0, "
    "fwd occupancy: 93.00%"
)


@pytest.mark.parametrize(
    ("line", "length", "rate"),
    [(V0_4, 3.12, None), (V0_5_4, 4.0, 0.75), (V0_5_11, 3.05, 0.68), (V0_5_23, 3.0, 0.4)],
    ids=["0.4", "0.5.4", "0.5.11", "0.5.23"],
)
def test_versions(line: str, length: float, rate: float | None) -> None:
    only = model(line)
    assert (only.mean_acceptance_length, only.acceptance_rate) == (length, rate)
    assert (only.state, only.definition) == (State.ACTIVE, "sglang-log")


def test_a_length_alone_gives_the_rate_when_the_arguments_name_k() -> None:
    only = model(ARGUMENTS, decode("2.80"))
    assert only.acceptance_rate == pytest.approx(0.6)
    assert only.speculative_tokens == 3
    assert (only.model, only.method) == ("chat", "eagle3")


def test_means_are_weighted_by_running_requests() -> None:
    only = model(decode("3.00", "0.50", running=1), decode("2.00", "0.25", running=3))
    assert only.mean_acceptance_length == pytest.approx(2.25)
    assert only.acceptance_rate == pytest.approx(0.3125)
    assert only.speculative_tokens == 4


def test_lines_together_settle_the_formula() -> None:
    found = report(decode("2.92", "0.18"), decode("4.64", "0.29"))
    assert found.models[0].acceptance_rate == pytest.approx((3.78 - 1) / 15)
    assert [w.rate for w in found.windows] == [pytest.approx(1.92 / 15), pytest.approx(3.64 / 15)]
    assert "rate_converted" in codes(found)


def test_lines_that_fit_no_formula_leave_the_rate_unknown() -> None:
    found = report(decode("2.92", "0.18"), decode("3.33", "0.51"))
    assert found.models[0].acceptance_rate is None
    assert found.models[0].mean_acceptance_length == pytest.approx(3.125)
    assert "rate_formula_unknown" in codes(found)


def test_a_rate_over_one_is_refused() -> None:
    found = report(decode("4.00", "1.18"))
    assert (found.models[0].acceptance_rate, found.models[0].mean_acceptance_length) == (None, 4.0)
    assert "rate_over_one" in codes(found)


def test_data_parallel_ranks_are_added_and_copies_left_out() -> None:
    found = report(
        decode("3.00", "0.50", ranks=" DP0 TP0", running=4, queued=1),
        decode("3.00", "0.50", ranks=" DP0 TP1", running=4, queued=1),
        decode("2.00", "0.25", ranks=" DP1 TP2", running=6, queued=0),
        decode("2.00", "0.25", ranks=" DP1 TP3", running=6, queued=0),
    )
    (only,) = found.models
    assert (only.engines, only.running, only.waiting, only.kv_cache_usage) == (2, 10, 1, 0.64)
    assert [w.engine for w in found.windows] == ["0", "1"]
    assert "duplicate_series" in codes(found)


def test_a_restart_with_other_ranks_is_not_taken_for_copies() -> None:
    found = report(decode("3.00", "0.50", ranks=" TP0"), ARGUMENTS, decode("3.00", "0.50", ranks=" TP0 EP0"))
    assert len(found.windows) == 2


def test_decode_lines_without_acceptance_mean_off() -> None:
    only = model(decode())
    assert (only.state, only.acceptance_rate, only.definition) == (State.OFF, None, "none")


def test_prefill_alone_says_nothing_about_speculation() -> None:
    only = model(
        "[10:00:00] Prefill batch, #new-seq: 1, #new-token: 158, token usage: 0.08, #running-req: 31, #queue-req: 4"
    )
    assert (only.state, only.running, only.waiting) == (State.UNKNOWN, 31, 4)


@pytest.mark.parametrize(
    "end", range(len("[2026-07-21 15:00:17] Decode batch, #r"), len(decode("2.80", "0.60")) - 12)
)
def test_a_line_cut_anywhere_never_tells_a_wrong_number(end: int) -> None:
    found = report(decode("2.80", "0.60")[:end])
    assert "line_partial" in codes(found)
    for got in found.windows:
        assert (got.partial, got.length) == (True, 2.8)
        assert got.rate is None or got.rate == pytest.approx(0.6)


def test_json_and_container_prefixes() -> None:
    wrapped = json.dumps({"log": decode("2.80", "0.60") + "\n", "stream": "stderr"})
    assert model(wrapped, f"sglang-1  | {decode('2.80', '0.60')}\r").acceptance_rate == pytest.approx(0.6)


def test_the_engine_with_more_lines_is_reported() -> None:
    found = report("Engine 000: Avg prompt throughput: 0.1 tokens/s", decode("2.80"), decode("2.80"))
    assert found.engine == "sglang"


def test_windows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sglang_log, "MAX_WINDOWS", 3)
    found = report(*[decode("2.80", "0.60")] * 9)
    assert (len(found.windows), "lines_not_listed" in codes(found)) == (3, True)


def test_prose_that_mentions_a_batch_is_no_line() -> None:
    assert read_log("We tuned the Decode batch size.") is None


WORDS = st.sampled_from(
    [*decode("2.80", "0.60").split(" "), *ARGUMENTS.split(" "), "0.99,", "9.99,", "\n", "DP7", "["]
)


@settings(deadline=None)
@given(st.lists(WORDS | st.text(max_size=6), max_size=60).map(" ".join))
def test_arbitrary_text_never_raises(text: str) -> None:
    found = read_log("Decode batch, #running-req: 1 " + text)
    assert found is not None
    json.dumps(found.to_json(), allow_nan=False)
