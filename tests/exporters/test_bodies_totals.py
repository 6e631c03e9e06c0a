"""Draft tokens in answers of gateways and of TensorRT-LLM, and streams of the other two forms.

Bodies made by us after smg-project/smg#2481, NVIDIA/TensorRT-LLM#19311, ggml-org/llama.cpp#12603 (its figures) and
lightseekorg/tokenspeed#1443.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from specwatch_exporters.bodies.read import read_body
from specwatch_exporters.inspection import Content, inspect
from specwatch_exporters.report import ModelReport, Report, State


def report(body: dict[str, Any]) -> Report:
    found = read_body(json.dumps({"id": "x", "object": "chat.completion", "model": "m", **body}))
    assert found is not None
    return found


def model(body: dict[str, Any]) -> ModelReport:
    (only,) = report(body).models
    return only


def choice(**fields: object) -> dict[str, object]:
    return {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop", **fields}


COUNTS = {
    "acceptance_rate": 0.5,
    "total_accepted_draft_tokens": 30,
    "total_draft_tokens": 60,
    "num_spec_steps": 20,
    "acceptance_histogram": [8, 0, 6, 6],
    "num_spec_tokens": 3,
}


def usage(accepted: int | None, rejected: int | None) -> dict[str, object]:
    details = {
        "accepted_prediction_tokens": accepted,
        "rejected_prediction_tokens": rejected,
        "reasoning_tokens": 0,
    }
    return {"prompt_tokens": 9, "completion_tokens": 141, "completion_tokens_details": details}


def test_a_gateways_usage_gives_a_rate_and_says_whose_tokens_they_may_be() -> None:
    body = {"choices": [choice()], "usage": usage(91, 59)}
    only = model(body)
    assert (only.tally.draft_tokens, only.tally.accepted_tokens, only.tally.drafts) == (150, 91, None)
    assert only.acceptance_rate == pytest.approx(91 / 150)
    assert (only.mean_acceptance_length, only.state) == (None, State.ACTIVE)
    assert {notice.code for notice in report(body).notices} == {"prediction_tokens"}


@pytest.mark.parametrize("pair", [(0, 0), (None, None), (5, None)])
def test_zeros_of_any_server_tell_nothing(pair: tuple[int | None, int | None]) -> None:
    only = model({"choices": [choice()], "usage": usage(*pair)})
    assert (only.acceptance_rate, only.state) == (None, State.UNKNOWN)


def test_an_engines_own_record_comes_first() -> None:
    record = {"num_spec_steps": 4, "num_draft_tokens": 11, "num_accepted_draft_tokens": 5, "num_spec_tokens": 3}
    only = model({"choices": [choice()], "usage": usage(91, 59), "metrics": {"speculative_decoding": record}})
    assert only.tally.draft_tokens == 11


def test_timings_of_llama_cpp_give_a_rate() -> None:
    only = model({"choices": [choice()], "timings": {"predicted_n": 200, "draft_n": 347, "draft_n_accepted": 65}})
    assert only.acceptance_rate == pytest.approx(65 / 347)
    assert only.mean_acceptance_length is None


def test_a_choice_of_tensorrt_llm_tells_its_counts() -> None:
    body = {"choices": [choice(avg_decoded_tokens_per_iter=2.5, speculative_decoding=COUNTS)]}
    only = model(body)
    assert report(body).engine == "trtllm"
    assert (only.acceptance_rate, only.mean_acceptance_length, only.tally.drafts) == (0.5, 2.5, 20)
    assert only.tally.per_position == (0.6, 0.6, 0.3)


def test_two_choices_are_added() -> None:
    only = model({"choices": [choice(speculative_decoding=COUNTS), choice(index=1, speculative_decoding=COUNTS)]})
    assert (only.tally.drafts, only.tally.draft_tokens, only.tally.accepted_tokens) == (40, 120, 60)


@pytest.mark.parametrize(("told", "length"), [(2.57, 2.57), (1.0, None), (None, None)])
def test_tokens_per_iteration_are_a_length_unless_nothing_was_drafted(
    told: float | None, length: float | None
) -> None:
    only = model({"choices": [choice(avg_decoded_tokens_per_iter=told)], "usage": {"completion_tokens": 50}})
    assert (only.mean_acceptance_length, only.acceptance_rate) == (length, None)


def test_tokenspeed_names_its_counts_otherwise() -> None:
    meta = {"completion_tokens": 142, "spec_verify_ct": 50, "spec_accepted_tokens": 91, "spec_draft_tokens": 350}
    only = model({"meta_info": meta})
    assert (only.acceptance_rate, only.tally.drafts) == (0.26, 50)


def test_anthropics_prompt_holds_the_cached_tokens() -> None:
    told = {
        "input_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": None,
        "output_tokens": 3,
    }
    only = model({"type": "message", "content": [], "stop_reason": "end_turn", "usage": told})
    assert (only.facts["prompt_tokens"], only.facts["finish_reason"]) == (105, "end_turn")


def events(*items: dict[str, Any]) -> str:
    return "".join(f"event: {item['type']}\ndata: {json.dumps(item)}\n\n" for item in items)


MESSAGES = (
    {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 25, "output_tokens": 0}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}},
    {"type": "message_stop"},
)
RESPONSES = (
    {"type": "response.created", "response": {"model": "m"}},
    {"type": "response.output_text.delta", "delta": "hi"},
    {
        "type": "response.completed",
        "response": {"model": "m", "status": "completed", "usage": {"input_tokens": 25, "output_tokens": 15}},
    },
)


@pytest.mark.parametrize(("stream", "first"), [(MESSAGES, 4), (RESPONSES, 2)])
def test_streams_whose_events_name_their_type_are_read(stream: tuple[dict[str, Any], ...], first: int) -> None:
    found = read_body(events(*stream) + "data: [DONE]\n\n")
    assert found is not None
    (only,) = found.models
    facts = only.facts
    assert (only.model, facts["prompt_tokens"], facts["completion_tokens"]) == ("m", 25, 15)
    assert (facts["chunks"], facts["ttft_chunk"], facts["complete"], facts["done"]) == (
        len(stream),
        first,
        True,
        True,
    )


@pytest.mark.parametrize("stream", [MESSAGES, RESPONSES])
def test_such_a_stream_that_breaks_off_is_not_whole(stream: tuple[dict[str, Any], ...]) -> None:
    cut = events(*stream[:2], {"type": "error", "error": {"type": "overloaded_error"}}) + "data: {\n\n"
    found = read_body(cut)
    assert found is not None
    assert "stream_cut" in {notice.code for notice in found.notices}


CURL = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nage: 1\r\n\r\n"
HEADS = [": keep-alive\n\n", "id: 1\n", "retry: 3000\n\n", "event: message\nid: 7\n", CURL]


@pytest.mark.parametrize("head", HEADS)
def test_lines_before_the_data_do_not_make_a_stream_a_metrics_page(head: str) -> None:
    text = (
        head
        + 'data: {"model": "m", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}\n'
    )
    assert inspect(Content("x", text.encode())).source == "stream"


def test_a_recorded_head_before_a_response_is_passed_over() -> None:
    body = {"model": "m", "choices": [choice()], "timings": {"draft_n": 4, "draft_n_accepted": 1}}
    found = read_body(f"HTTP/2 200 \nserver: uvicorn\n\n{json.dumps(body)}\n")
    assert found is not None
    assert found.models[0].acceptance_rate == 0.25


def test_timings_alone_count_as_a_response() -> None:
    saved = read_body('{"predicted_n": 200, "predicted_ms": 11082.6, "draft_n": 347, "draft_n_accepted": 65}')
    assert saved is not None
    (found,) = saved.models
    assert (found.tally.draft_tokens, found.tally.accepted_tokens, found.tally.drafts) == (347, 65, None)
