"""SGLang's per-request fields, every era of names and formulas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.acceptance import Tally
from specwatch_exporters.bodies.record import RequestRecord
from specwatch_exporters.bodies.response import record_from_json

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
    "names",
    [
        ("spec_num_correct_drafts", "spec_num_proposed_drafts", "spec_correct_drafts_histogram"),
        ("spec_accepted_drafts", "spec_proposed_drafts", "spec_accept_histogram"),
    ],
    ids=["0.5.12", "0.5.11"],
)
@pytest.mark.parametrize("where", ["bare", "native", "extension", "choice"])
def test_sglang_names(names: tuple[str, str, str], where: str) -> None:
    fields: dict[str, Any] = {
        **OLD,
        "spec_accept_rate": 91 / 150,
        names[0]: 91,
        names[1]: 150,
        names[2]: [9, 10, 12, 19],
    }
    body: dict[str, Any] = {
        "bare": fields,
        "native": {"text": "x", "meta_info": {**fields, "finish_reason": {"type": "length", "length": 141}}},
        "extension": completion(sglext={"spec_tokens_details": fields}),
        "choice": completion(choices=[{"index": 0, "meta_info": fields, "finish_reason": "length"}]),
    }[where]
    record = read(body)
    assert (record.engine, record.speculative_tokens, codes(record)) == ("sglang", 3, [])
    assert record.tally == Tally(50, 150, 91, (41, 31, 19))
    assert record.histogram == (9, 10, 12, 19)
    assert (
        record.finish_reason == {"bare": None, "native": "length", "extension": "stop", "choice": "length"}[where]
    )


def test_several_choices_are_added() -> None:
    record = read(completion(sglext={"spec_tokens_details": [NEW, NEW]}, usage={"completion_tokens": 282}))
    assert record.tally == Tally(100, 300, 182, (82, 62, 38))
    assert (record.completion_tokens, record.speculative_tokens) == (282, 3)


@pytest.mark.parametrize(
    ("accepted", "proposed", "rate", "converted"),
    [(141, 200, 141 / 200, True), (91, 150, 91 / 150, False)],
    ids=["bonus-and-root", "strict"],
)
@pytest.mark.parametrize("witness", [{}, {"spec_accept_histogram": [9, 10, 12, 19]}], ids=["tokens", "histogram"])
def test_names_of_0_5_6_in_either_way_of_counting(
    accepted: int, proposed: int, rate: float, witness: dict[str, Any], converted: bool
) -> None:
    fields = {**OLD, "spec_accept_rate": rate, "spec_accept_token_num": accepted, "spec_draft_token_num": proposed}
    record = read({**fields, **witness})
    assert (record.tally.drafts, record.tally.draft_tokens, record.tally.accepted_tokens) == (50, 150, 91)
    assert codes(record) == (["rate_converted"] if converted else [])


def test_names_of_0_5_6_that_fit_both_ways_are_unknown() -> None:
    record = read(
        {"spec_verify_ct": 3, "spec_accept_token_num": 6, "spec_draft_token_num": 12, "completion_tokens": 8}
    )
    assert (record.tally.drafts, record.tally.acceptance_rate, codes(record)) == (3, None, ["rate_formula_unknown"])


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 8), st.data())
def test_old_names_are_read_right_or_not_at_all(calls: int, depth: int, data: st.DataObject) -> None:
    accepted = data.draw(st.integers(0, calls * depth))
    cut = data.draw(st.integers(-1, depth - 1))
    rooted = data.draw(st.booleans())
    body = {"spec_verify_ct": calls, "completion_tokens": max(1, accepted + calls - cut)}
    body["spec_accept_token_num"] = accepted + calls if rooted else accepted
    body["spec_draft_token_num"] = calls * (depth + 1 if rooted else depth)
    tally = read(body).tally
    assert tally.accepted_tokens in (None, accepted)
    assert tally.draft_tokens in (None, calls * depth)


def test_rates_of_0_5_4_are_solved_for_counts() -> None:
    record = read({**OLD, "spec_accept_rate": 91 / 150})
    assert (record.tally.draft_tokens, record.tally.accepted_tokens, record.speculative_tokens) == (150, 91, 3)


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 8), st.data())
def test_rates_alone_are_read_right_or_not_at_all(calls: int, depth: int, data: st.DataObject) -> None:
    accepted = data.draw(st.integers(0, calls * depth))
    generated = max(1, accepted + calls - data.draw(st.integers(-1, depth - 1)))
    strict = data.draw(st.booleans())
    rate = accepted / (calls * depth) if strict else (accepted + calls) / (calls * (depth + 1))
    record = read({"spec_verify_ct": calls, "completion_tokens": generated, "spec_accept_rate": rate})
    assert record.tally.accepted_tokens in (None, accepted)
    assert record.tally.draft_tokens in (None, calls * depth)


def test_verify_calls_alone_give_a_length_and_no_rate() -> None:
    record = read({"meta_info": {"spec_verify_ct": 50, "completion_tokens": 141}})
    assert record.speculation is not None
    assert (record.speculation.length, record.tally.acceptance_rate) == (2.82, None)
    assert record.speculation.definition == "sglang-completion-per-verify"


@pytest.mark.parametrize(
    ("fields", "conflict"),
    [
        ({"spec_accept_rate": 0.0, "spec_accept_length": 0}, True),
        ({"spec_accept_rate": 0.0, "spec_accept_length": 0, "spec_verify_ct": 50}, True),
        ({"spec_accept_rate": 0.0, "spec_accept_length": 0, "spec_verify_ct": 0, "completion_tokens": 9}, True),
        ({"spec_accept_rate": 0.0, "spec_accept_length": 0, "spec_verify_ct": 0, "completion_tokens": 1}, False),
    ],
)
def test_sglang_zeros_are_not_believed(fields: dict[str, Any], conflict: bool) -> None:
    record = read(fields)
    assert record.tally.acceptance_rate is None
    assert codes(record) == (["client_zero_conflict"] if conflict else [])


def test_sglang_zero_acceptance_over_real_steps_is_zero() -> None:
    fields = {"spec_num_correct_drafts": 0, "spec_num_proposed_drafts": 150, "spec_verify_ct": 50}
    record = read({**fields, "spec_accept_rate": 0.0, "spec_accept_length": 1.02, "completion_tokens": 51})
    assert (record.tally.acceptance_rate, record.tally.mean_acceptance_length, codes(record)) == (0.0, 1.0, [])


def test_sglang_rate_over_one_is_refused() -> None:
    record = read({"spec_accept_rate": 1.18, "spec_accept_length": 4.0, "spec_verify_ct": 20})
    assert record.speculation is not None
    assert (record.speculation.rate, codes(record)) == (None, ["rate_over_one"])
