"""Saved bodies to a report: responses, lists, JSON lines, streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specwatch_exporters.bodies.read import read_body
from specwatch_exporters.bodies.stream import StreamReading
from specwatch_exporters.report import ModelReport, Report, State

TESTS = Path(__file__).parent.parent
CASE_50 = TESTS / "cases" / "50-vllm-per-request-metrics-in-stream"
CASE_52 = TESTS / "cases" / "52-sse-empty-first-chunks-and-merged-finish"
CAPTURES = TESTS / "captures" / "sglang-0.5.17-h200"
STREAM_50 = (CASE_50 / "stream.sse").read_text()
STREAM_52 = (CASE_52 / "stream.sse").read_text()


def report(text: str) -> Report:
    found = read_body(text)
    assert found is not None
    return found


def model(text: str) -> ModelReport:
    (only,) = report(text).models
    return only


def codes(found: Report) -> set[str]:
    return {notice.code for notice in found.notices}


@pytest.mark.parametrize(
    "text",
    [
        STREAM_50,
        STREAM_50.replace("\n", "\r\n"),
        "\ufeff" + STREAM_50,
        STREAM_50.rstrip(),
        ": hello\n\n" + STREAM_50,
    ],
    ids=["lf", "crlf", "bom", "no-last-blank-line", "comment-first"],
)
def test_50_the_record_comes_with_the_last_chunk(text: str) -> None:
    found, wanted = report(text), json.loads((CASE_50 / "expected.json").read_text())
    (only,) = found.models
    assert (found.engine, found.source, only.model, only.state) == ("vllm", "stream", "test-model", State.ACTIVE)
    assert (only.tally.drafts, only.tally.draft_tokens, only.tally.accepted_tokens) == (43, 129, 10)
    assert only.acceptance_rate == pytest.approx(wanted["acceptance_rate"], abs=1e-6)
    assert only.mean_acceptance_length == pytest.approx(wanted["mean_acceptance_length"], abs=1e-6)
    assert only.facts["histogram"] == tuple(wanted["histogram"])
    assert (only.facts["prompt_tokens"], only.facts["completion_tokens"]) == (11742, 53)


def test_52_first_content_finish_and_usage() -> None:
    found, wanted = report(STREAM_52), json.loads((CASE_52 / "expected.json").read_text())
    (only,) = found.models
    assert {name: only.facts[name] for name in ("ttft_chunk", "completion_tokens", "complete")} == {
        name: wanted[name] for name in ("ttft_chunk", "completion_tokens", "complete")
    }
    assert (only.facts["finish_reason"], only.facts["prompt_tokens"], only.facts["done"]) == ("stop", 26, True)
    assert (only.state, codes(found)) == (State.UNKNOWN, {"no_speculative_record"})


def test_a_stream_without_done_is_complete_if_it_finished() -> None:
    facts = model(STREAM_52.replace("data: [DONE]\n\n", "")).facts
    assert (facts["complete"], facts["done"]) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        STREAM_52[: STREAM_52.index('"."')],
        STREAM_52[: STREAM_52.index('"stop"')],
        STREAM_52.replace("data: [DONE]", 'data: {"error": {"message": "engine died", "code": 500}}'),
        STREAM_52.replace('"stop"', "null"),
    ],
    ids=["cut", "cut-in-the-finish", "error", "done-without-finish"],
)
def test_a_stream_that_is_not_whole_says_so(text: str) -> None:
    found = report(text)
    assert found.models[0].facts["complete"] is False
    assert "stream_cut" in codes(found)


def test_a_stream_of_an_error_alone_is_a_stream() -> None:
    found = report('data: {"error": {"message": "no such model"}}\n\ndata: [DONE]\n\n')
    assert (found.source, found.models, codes(found)) == ("stream", (), {"stream_cut"})


def chunk(delta: dict[str, Any] | None, index: int = 0, finish: str | None = None, **extra: Any) -> str:
    choices = [] if delta is None else [{"index": index, "delta": delta, "finish_reason": finish}]
    return json.dumps({"object": "chat.completion.chunk", "model": "m", "choices": choices, **extra})


def stream(*chunks: str) -> str:
    return "".join(f"data: {data}\n\n" for data in (*chunks, "[DONE]"))


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"content": None, "tool_calls": [{"index": 0}]},
        {"refusal": "no"},
    ],
)
def test_reasoning_and_tool_calls_are_content(delta: dict[str, Any]) -> None:
    assert (
        model(stream(chunk({"role": "assistant", "content": ""}), chunk(delta, finish="stop"))).facts["ttft_chunk"]
        == 2
    )


def test_text_completions_stream() -> None:
    parts = [
        json.dumps({"choices": [{"index": 0, "text": t, "finish_reason": f}]})
        for t, f in (("", None), ("a", "stop"))
    ]
    facts = model(stream(*parts)).facts
    assert (facts["ttft_chunk"], facts["complete"]) == (2, True)


def test_every_choice_must_finish() -> None:
    parts = [chunk({"content": "a"}, 0), chunk({"content": "b"}, 1), chunk({}, 0, "stop")]
    assert model(stream(*parts)).facts["complete"] is False
    assert model(stream(*parts, chunk({}, 1, "length"))).facts["complete"] is True


def native(text: str, generated: int, index: int = 0, **meta: Any) -> str:
    info = {"prompt_tokens": 4, "completion_tokens": generated, "finish_reason": None, **meta}
    return json.dumps({"text": text, "index": index, "meta_info": info})


SPEC: dict[str, Any] = {
    "spec_num_correct_drafts": 40,
    "spec_num_proposed_drafts": 69,
    "spec_verify_ct": 23,
    "spec_accept_length": 64 / 23,
    "finish_reason": {"type": "length", "length": 64},
}


def test_sglang_native_stream() -> None:
    found = report(stream(native("", 0), native("a", 3), native("ab", 64, **SPEC)))
    (only,) = found.models
    assert (found.engine, found.source) == ("sglang", "stream")
    assert (only.tally.drafts, only.tally.accepted_tokens, only.facts["completion_tokens"]) == (23, 40, 64)
    assert (only.facts["ttft_chunk"], only.facts["finish_reason"], only.facts["complete"]) == (2, "length", True)


def test_sglang_native_stream_of_two_prompts_is_added() -> None:
    only = model(stream(native("a", 64, 0, **SPEC), native("b", 64, 1, **SPEC)))
    assert (only.tally.drafts, only.tally.draft_tokens, only.facts["completion_tokens"]) == (46, 138, 128)


def test_the_captured_records_give_the_true_figures() -> None:
    records = json.loads((CAPTURES / "meta_info.json").read_text())
    single = json.loads((CAPTURES / "generate.json").read_text())
    only = model(json.dumps([*records, single]))
    assert (only.facts["requests"], only.facts["completion_tokens"], only.tally.drafts) == (129, 24640, 9175)
    assert (only.tally.draft_tokens, only.tally.accepted_tokens, only.speculative_tokens) == (27525, 15464, 3)
    assert only.mean_acceptance_length == pytest.approx(2.686, abs=1e-3)
    assert only.latencies["queue_wait_seconds"].count == 129


def test_json_lines_are_a_list() -> None:
    records = json.loads((CAPTURES / "meta_info.json").read_text())
    lines = "\n".join(json.dumps({"request_parameters": "{}", **record}) for record in records)
    assert model(lines).tally == model(json.dumps(records)).tally
    found = report(lines[:-50])
    assert (found.models[0].facts["requests"], codes(found)) == (127, {"line_partial"})


def test_models_are_kept_apart() -> None:
    bodies = [json.loads((CASE_50 / "early_build.json").read_text()) | {"model": name} for name in "bab"]
    found = report(json.dumps(bodies))
    assert [(only.model, only.tally.drafts) for only in found.models] == [("a", 43), ("b", 86)]


def test_records_in_doubt_stay_out_of_the_sum() -> None:
    good = json.loads((CAPTURES / "generate.json").read_text())["meta_info"]
    bad = {**good, "spec_num_correct_drafts": 70}
    found = report(json.dumps([good, bad, bad]))
    (only,) = found.models
    assert (only.tally.drafts, only.tally.accepted_tokens) == (23, 40)
    (notice,) = found.notices
    assert notice.code == "inconsistent_counts"
    assert notice.message.endswith("(1 more like it.)")


def test_rates_without_counts_are_averaged_over_verify_calls() -> None:
    bodies = [{"spec_verify_ct": calls, "completion_tokens": tokens} for calls, tokens in ((10, 20), (30, 90))]
    only = model(json.dumps(bodies))
    assert (only.state, only.acceptance_rate) == (State.ACTIVE, None)
    assert only.mean_acceptance_length == pytest.approx(110 / 40)


def test_detailed_records_show_true_denominators() -> None:
    steps = {"num_spec_steps": 2, "num_draft_tokens": 5, "num_accepted_draft_tokens": 3, "num_spec_tokens": 3}
    detail = {"per_step_accepted": [1, 2], "per_step_drafted": [3, 2], "acceptance_histogram": [0, 1, 1, 0]}
    body = {"speculative_decoding": {**steps, **detail}}
    only = model(json.dumps([body, body]))
    assert only.facts["drafted_per_position"] == (4, 4, 2)
    assert only.to_json()["histogram"] == (0, 2, 2, 0)


def test_nothing_drafted_is_idle() -> None:
    steps = {"num_spec_steps": 0, "num_draft_tokens": 0, "num_accepted_draft_tokens": 0, "num_spec_tokens": 3}
    assert model(json.dumps(steps)).state is State.IDLE


def test_a_missing_record_names_the_flag() -> None:
    found = report((CAPTURES / "completions.json").read_text())
    (notice,) = found.notices
    assert (notice.code, found.models[0].state) == ("no_speculative_record", State.UNKNOWN)
    assert "return_meta_info" in notice.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "{",
        "[]",
        "[" * 100_000,
        "data: hello\n\n",
        "data: [DONE]\n\n",
        '{"a": 1}\n{"b": 2}',
        "# TYPE x y",
    ],
)
def test_other_text_is_no_body(text: str) -> None:
    assert read_body(text) is None


@settings(deadline=None)
@given(st.lists(st.text(max_size=20) | st.sampled_from(STREAM_50.split("\n\n")), max_size=8).map("\n\n".join))
def test_arbitrary_text_never_raises(text: str) -> None:
    for candidate in (text, f"data: {text}", f"[{text}"):
        found = read_body(candidate)
        if found is not None:
            json.dumps(found.to_json(), allow_nan=False)


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=8))
def test_a_stream_reading_takes_anything(events: list[str]) -> None:
    reading = StreamReading()
    for event in events:
        reading.take(event)
    assert reading.chunks + reading.damaged + reading.done >= min(1, len(events))


RECORD = (
    '{"speculative_decoding": {"acceptance_histogram": [39, 1, 0, 3], "num_spec_steps": 43, '
    '"num_accepted_draft_tokens": 10, "num_draft_tokens": 129, "num_spec_tokens": 3}}'
)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"data": {{"object": "chat.completion.chunk", "choices": [], "metrics": {RECORD}}}}}',
        f'{{\n  "choices": [ ... ],\n  "usage": {{ ... }},\n  "metrics": {RECORD}\n}}',
        f'{{"choices": [\u2026], "metrics": {RECORD}}}',
    ],
)
def test_bodies_as_captures_and_documents_have_them(text: str) -> None:
    """Both forms stand in mostlygeek/llama-swap#1032."""
    assert model(text).tally.draft_tokens == 129
