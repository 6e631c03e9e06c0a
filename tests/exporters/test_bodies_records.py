"""Per-request records of every engine and era."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.response import record_from_json

CAPTURES = Path(__file__).parent.parent / "captures" / "sglang-0.5.17-h200"
SUMMARY: dict[str, Any] = {
    "mean_acceptance_length": 1.2325581395348837,
    "draft_acceptance_rate": 0.07751937984496124,
    "acceptance_histogram": [39, 1, 0, 3],
    "num_spec_steps": 43,
    "num_accepted_draft_tokens": 10,
    "num_draft_tokens": 129,
    "num_spec_tokens": 3,
    "per_step_accepted": None,
    "per_step_drafted": None,
}
DETAILED: dict[str, Any] = {
    "mean_acceptance_length": 2.25,
    "draft_acceptance_rate": 0.45454545454545453,
    "acceptance_histogram": [1, 2, 0, 1],
    "num_spec_steps": 4,
    "num_accepted_draft_tokens": 5,
    "num_draft_tokens": 11,
    "num_spec_tokens": 3,
    "per_step_accepted": [1, 3, 0, 1],
    "per_step_drafted": [3, 3, 3, 2],
}
TIMES = {
    "time_to_first_token_ms": 41.7,
    "generation_time_ms": 96.2,
    "queue_time_ms": 3.1,
    "mean_itl_ms": 10.7,
    "tokens_per_second": 93.6,
}
NEW = {
    "completion_tokens": 141,
    "spec_accept_rate": 91 / 150,
    "spec_accept_length": 2.82,
    "spec_num_correct_drafts": 91,
    "spec_num_proposed_drafts": 150,
    "spec_verify_ct": 50,
    "spec_correct_drafts_histogram": [9, 10, 12, 19],
    "queue_time": 0.0021,
}
OLD = {"completion_tokens": 141, "spec_verify_ct": 50, "spec_accept_length": 2.82}


def read(body: object) -> RequestRecord:
    record = record_from_json(body)
    assert record is not None
    return record


def codes(record: RequestRecord) -> list[str]:
    return [notice.code for notice in record.notices]


def completion(**extra: Any) -> dict[str, Any]:
    choices = [{"index": 0, "text": "x", "finish_reason": "stop"}]
    return {"id": "c", "object": "text_completion", "model": "m", "choices": choices, **extra}


@pytest.mark.parametrize(
    "body",
    [
        completion(metrics={"speculative_decoding": SUMMARY}),
        completion(choices=[], metrics={"speculative_decoding": SUMMARY}),
        {"speculative_decoding": SUMMARY},
        SUMMARY,
        completion(choices=[{"index": 0, "speculative_decoding_stats": SUMMARY}]),
        completion(
            choices=[
                {"speculative_decoding_stats": {**SUMMARY, "acceptance_histogram": {"0": 39, "3": 3, "1": 1}}},
            ]
        ),
    ],
    ids=["response", "last-chunk", "metrics", "record", "early-list", "early-dict"],
)
def test_vllm_summary(body: dict[str, Any]) -> None:
    record = read(body)
    assert record.engine == "vllm"
    assert record.tally == Tally(43, 129, 10, (4, 3, 3))
    assert (record.histogram, record.speculative_tokens, codes(record)) == ((39, 1, 0, 3), 3, [])


def test_rounded_ratios_are_recomputed() -> None:
    record = read({**SUMMARY, "mean_acceptance_length": 1.23, "draft_acceptance_rate": 0.078})
    assert record.tally.acceptance_rate == pytest.approx(0.077519, abs=1e-6)
    assert record.tally.mean_acceptance_length == pytest.approx(1.232558, abs=1e-6)


def test_vllm_detailed_gives_true_denominators_and_times() -> None:
    record = read({"metrics": {**TIMES, "speculative_decoding": DETAILED}})
    assert record.speculation is not None
    assert (record.per_step_accepted, record.per_step_drafted) == ((1, 3, 0, 1), (3, 3, 3, 2))
    assert record.speculation.drafted_per_position == (4, 4, 3)
    assert record.queue_wait_s == pytest.approx(0.0031)
    assert record.ttft_s == pytest.approx(0.0448)
    assert record.e2e_s == pytest.approx(0.141)
    assert record.token_latency_s == pytest.approx(0.0107)


def test_vllm_times_without_a_record_and_without_a_queue_time() -> None:
    record = read(completion(metrics={**TIMES, "queue_time_ms": None, "speculative_decoding": None}))
    assert (record.engine, record.speculation, record.ttft_s) == ("vllm", None, None)


def test_nothing_drafted_is_a_record_of_zeros() -> None:
    zeros = {**SUMMARY, "acceptance_histogram": [0] * 4, "num_spec_steps": 0}
    record = read({**zeros, "num_accepted_draft_tokens": 0, "num_draft_tokens": 0})
    assert record.tally == Tally(0, 0, 0, (0, 0, 0))
    assert (record.tally.acceptance_rate, record.tally.mean_acceptance_length) == (None, None)


@pytest.mark.parametrize(
    ("change", "unknown", "known"),
    [
        ({"acceptance_histogram": [38, 1, 0, 3]}, ["mean_acceptance_length"], ["acceptance_rate"]),
        ({"acceptance_histogram": [39, 0, 1, 3]}, ["acceptance_rate", "mean_acceptance_length"], []),
        ({"num_accepted_draft_tokens": 130}, ["acceptance_rate", "mean_acceptance_length"], []),
        ({"num_draft_tokens": 9}, ["acceptance_rate"], ["mean_acceptance_length"]),
        ({"num_draft_tokens": 130}, ["acceptance_rate"], ["mean_acceptance_length"]),
        ({"num_spec_tokens": 2}, ["acceptance_rate"], ["mean_acceptance_length"]),
        ({"per_step_accepted": [1] * 10}, ["mean_acceptance_length"], ["acceptance_rate"]),
        ({"per_step_accepted": [0] * 43}, ["acceptance_rate", "mean_acceptance_length"], []),
        ({"per_step_drafted": [1] * 43}, ["acceptance_rate"], ["mean_acceptance_length"]),
    ],
    ids=["steps", "sum", "over", "under", "over-k", "k", "length", "kept", "proposed"],
)
def test_contradictions_make_the_ratio_unknown(
    change: dict[str, Any], unknown: list[str], known: list[str]
) -> None:
    record = read({**SUMMARY, **change})
    assert codes(record) == ["inconsistent_counts"]
    assert [getattr(record.tally, name) for name in unknown] == [None] * len(unknown)
    assert None not in [getattr(record.tally, name) for name in known]


def test_a_step_cannot_accept_more_than_it_drafted() -> None:
    record = read({**DETAILED, "per_step_drafted": [3, 2, 3, 3]})
    assert (codes(record), record.tally.acceptance_rate) == (["inconsistent_counts"], None)


@pytest.mark.parametrize(
    "bad",
    [
        {"num_spec_steps": "43"},
        {"num_spec_steps": True},
        {"num_spec_steps": -1},
        {"num_spec_steps": 1e400},
        {"acceptance_histogram": {"1000000000": 1}},
        {"acceptance_histogram": {"a": 1}},
        {"acceptance_histogram": [1, None]},
        {"num_spec_tokens": 10**9},
        {"per_step_drafted": [2**53]},
    ],
    ids=str,
)
def test_odd_values_are_unknown(bad: dict[str, Any]) -> None:
    record = read({**SUMMARY, **bad})
    assert record.speculation is not None
    assert len(record.speculation.drafted_per_position) < 2000
    assert len(record.histogram) < 2000


def trtllm(accepted: int, drafted: int) -> dict[str, Any]:
    times = {
        "arrival_time": 1000.0,
        "first_scheduled_time": 1000.012,
        "first_token_time": 1000.09,
        "last_token_time": 1001.31,
    }
    part = {"acceptance_rate": 0.5, "total_accepted_draft_tokens": accepted, "total_draft_tokens": drafted}
    return {"request_id": 7, "perf_metrics": {"timing_metrics": times, "speculative_decoding": part}}


def test_trtllm_has_totals_and_times_but_no_steps() -> None:
    record = read(trtllm(91, 150))
    assert (record.engine, record.tally) == ("trtllm", Tally(None, 150, 91))
    assert record.queue_wait_s == pytest.approx(0.012)
    assert record.ttft_s == pytest.approx(0.09)
    assert record.e2e_s == pytest.approx(1.31)


def test_trtllm_zeros_are_unknown() -> None:
    record = read(trtllm(0, 0))
    assert (record.tally, codes(record)) == (Tally(), ["no_speculative_record"])


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"object": "list", "data": []},
        {"error": {"message": "no"}},
        {"iter": 3, "specDecodingStats": {"numDraftTokens": 3}},
        {"loads": [{"speculative": {"accept_length": 2.79}}]},
        {"message": "SpecDecoding metrics:"},
    ],
    ids=str,
)
def test_other_json_is_no_response(body: object) -> None:
    assert record_from_json(body) is None


@pytest.mark.parametrize("name", ["completions.json", "server_info.spec.json"])
def test_captured_json_without_a_record(name: str) -> None:
    record = record_from_json(json.loads((CAPTURES / name).read_text()))
    assert record is None or record.speculation is None
    assert (record is None) is (name == "server_info.spec.json")


NAMES = st.sampled_from(
    [
        *SUMMARY,
        *TIMES,
        *NEW,
        *OLD,
        *("spec_accept_token_num", "spec_draft_token_num", "metrics", "meta_info", "choices", "usage", "delta"),
        *("speculative_decoding", "speculative_decoding_stats", "sglext", "spec_tokens_details", "finish_reason"),
        *("perf_metrics", "timing_metrics", "total_draft_tokens", "total_accepted_draft_tokens", "model", "index"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.integers(0, 5)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner),
    max_leaves=30,
)


@settings(deadline=None)
@given(JSON)
def test_arbitrary_json_never_raises(body: object) -> None:
    record_from_json(body)


@settings(deadline=None)
@given(st.dictionaries(NAMES, LEAVES | st.lists(st.integers(0, 5), max_size=5)))
def test_arbitrary_records_give_ratios_within_bounds(body: dict[str, Any]) -> None:
    record = record_from_json(body)
    if record is not None:
        rate = record.tally.acceptance_rate
        assert rate is None or 0.0 <= rate <= 1.0
