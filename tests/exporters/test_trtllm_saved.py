"""TensorRT-LLM's iterations as people save and quote them, and its first page in excerpts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporters.page_text import codes, read
from specwatch_exporters.inspection import InspectionError


def iteration(number: int, accepted: int, **more: Any) -> dict[str, Any]:
    counts = {"numDraftTokens": 6, "numAcceptedTokens": accepted, "numRequestsWithDraftTokens": 2}
    return {"iter": number, "specDecodingStats": counts, **more}


BOTH = [iteration(1, 4, iterLatencyMS=11.2), iteration(2, 2)]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(BOTH),
        json.dumps([json.dumps(one) for one in BOTH]),
        "\n".join(json.dumps(one) for one in BOTH),
        json.dumps(BOTH, indent=2),
    ],
    ids=["list", "list of strings", "lines", "indented"],
)
def test_iterations_are_read_however_they_were_saved(text: str) -> None:
    report = read(text)
    (model,) = report["models"]
    assert report["source"] == "iterations"
    assert (model["drafts"], model["draft_tokens"], model["accepted_tokens"]) == (4, 12, 6)
    assert (model["acceptance_rate"], model["mean_acceptance_length"]) == (0.5, 2.5)


def test_one_iteration_by_itself_is_read() -> None:
    assert read(json.dumps(iteration(7, 3)))["models"][0]["accepted_tokens"] == 3


def test_an_empty_answer_says_what_may_be_the_reason() -> None:
    """Made after vllm-project/aibrix#2004, where /metrics always answered []."""
    report = read("[]")
    (warning,) = [one for one in report["warnings"] if one["code"] == "no_spec_series"]
    assert "enable_iter_perf_stats" in warning["message"]


def test_a_list_of_other_things_is_no_iterations() -> None:
    with pytest.raises(InspectionError, match="neither a metrics page"):
        read('[{"iter": 1, "loss": 0.3}, {"iter": 2, "loss": 0.2}]')


def test_the_first_versions_page_is_known_from_any_two_of_its_names() -> None:
    """Made after vllm-project/aibrix#2004: the excerpt begins with the end-to-end histogram."""
    labels = 'engine_type="undefined",model_name="undefined"'
    report = read(
        f"e2e_request_latency_seconds_sum{{{labels}}} 3.48\ne2e_request_latency_seconds_count{{{labels}}} 2.0\n"
        f"time_to_first_token_seconds_count{{{labels}}} 2.0\ntime_to_first_token_seconds_sum{{{labels}}} 0.4\n"
    )
    assert report["engine"] == "trtllm"
    assert report["models"][0]["latency"]["time_to_first_token_seconds"]["mean"] == pytest.approx(0.2)
    assert "no_spec_series" in codes(report)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting"} 0', "Triton"),
        ('sgl_router_requests_total{route="/generate"} 5', "router's"),
        ('inference_pool_average_queue_size{name="pool"} 3', "router's"),
        ("llamacpp:spec_decode_num_drafts_total 87", "llama.cpp"),
        ('DCGM_FI_DEV_GPU_UTIL{gpu="0",pod=""} 87', "dcgm-exporter"),
        ('specwatch_drafts_total{model="m"} 3', "specwatch's own"),
    ],
)
def test_a_page_that_is_known_and_has_no_acceptance_is_named(line: str, words: str) -> None:
    (warning,) = read(line + "\n")["warnings"]
    assert warning["code"] == "no_engine"
    assert words in warning["message"]
