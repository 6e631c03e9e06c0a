"""Real pages of real engines, with the figures that were true when they were taken (tests/captures/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specwatch_exporters.inspection import Content, inspect

CAPTURES = Path(__file__).parent.parent / "captures"


def read(name: str) -> dict[str, Any]:
    return inspect(Content(name, (CAPTURES / name).read_bytes())).to_json()


def codes(report: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in report["warnings"]}


VLLM = {
    "vllm-0.32.0-cpu/ngram-k3.prom": ("active", 16, 38, 14, [9 / 16, 4 / 16, 1 / 16], 3),
    "vllm-0.25.1-h200/l70-eagle3.prom": ("active", 9543, 28629, 16022, [0.75186, 0.54626, 0.38080], 3),
    "vllm-0.25.1-h200/l70-peagle.prom": (
        "active",
        8219,
        41095,
        17390,
        [0.75812, 0.54228, 0.37851, 0.25624, 0.18068],
        5,
    ),
    "vllm-0.25.1-h200/l70-ngram.prom": ("active", 13744, 40859, 11396, [0.44478, 0.24309, 0.14130], 3),
    "vllm-0.25.1-h200/q30-eagle3.prom": ("active", 9463, 28389, 16096, [0.76361, 0.55226, 0.38508], 3),
}


@pytest.mark.parametrize("name", sorted(VLLM))
def test_vllm_counts(name: str) -> None:
    state, drafts, draft_tokens, accepted, per_position, depth = VLLM[name]
    report = read(name)
    (model,) = report["models"]
    assert (report["engine"], model["state"], model["engines"], model["k"]) == ("vllm", state, 1, depth)
    assert (model["drafts"], model["draft_tokens"], model["accepted_tokens"]) == (drafts, draft_tokens, accepted)
    assert model["per_position"] == pytest.approx(per_position, abs=1e-4)
    assert model["acceptance_rate"] == pytest.approx(accepted / draft_tokens)
    assert model["mean_acceptance_length"] == pytest.approx(1 + accepted / drafts)
    assert codes(report) == ({"variable_depth"} if draft_tokens < 0.98 * depth * drafts else set())


@pytest.mark.parametrize(
    "name",
    [
        "vllm-0.25.1-h200/l70-off.prom",
        "vllm-0.25.1-h200/q30-off.prom",
        "vllm-0.25.1-h200/l70-bf16-off-queued.prom",
        "from-source/vllm-0.33.0-python-nospec.prom",
    ],
)
def test_a_whole_python_page_without_speculative_series_is_off(name: str) -> None:
    (model,) = read(name)["models"]
    assert (model["state"], model["acceptance_rate"], model["drafts"]) == ("off", None, None)
    assert model["per_position"] == []


def test_queue_wait_of_the_queued_run() -> None:
    (model,) = read("vllm-0.25.1-h200/l70-bf16-off-queued.prom")["models"]
    wait = model["latency"]["queue_wait_seconds"]
    assert wait["count"] == 133
    assert wait["mean"] == pytest.approx(699.7 / 133, abs=0.01)


def test_sglang_counts_follow_from_counters_not_from_the_gauge() -> None:
    """The gauge said 2.65, the last interval; all 131 requests had 24,712 tokens in 9,202 verify calls."""
    report = read("sglang-0.5.17-h200/llama-8b-eagle3.prom")
    (model,) = report["models"]
    assert (report["engine"], model["state"], model["k"]) == ("sglang", "active", 3)
    assert (model["drafts"], model["draft_tokens"]) == (9202, 3 * 9202)
    assert model["mean_acceptance_length"] == pytest.approx(24712 / 9202)
    assert model["definition"] == "sglang-tokens-per-verify"
    assert model["latency"]["queue_wait_seconds"]["count"] == 133


def test_sglang_records_give_the_exact_acceptance() -> None:
    report = read("sglang-0.5.17-h200/meta_info.json")
    (model,) = report["models"]
    records = json.loads((CAPTURES / "sglang-0.5.17-h200/meta_info.json").read_text())
    steps = sum(record["spec_verify_ct"] for record in records)
    accepted = sum(record["spec_num_correct_drafts"] for record in records)
    assert (model["drafts"], model["accepted_tokens"]) == (steps, accepted)
    assert model["acceptance_rate"] == pytest.approx(
        accepted / sum(record["spec_num_proposed_drafts"] for record in records)
    )


def test_sglang_ranks_are_copies() -> None:
    report = read("from-source/sglang-0.5.23-tp2-eagle3.prom")
    (model,) = report["models"]
    assert (model["running"], model["waiting"], model["engines"]) == (12, 3, 1)
    assert model["mean_acceptance_length"] == pytest.approx((21832 + 5458) / 9712)
    assert model["latency"]["queue_wait_seconds"]["count"] == 200


def test_data_parallel_engines_add_up_and_the_kv_share_does_not() -> None:
    (model,) = read("from-source/vllm-0.33.0-python-dp2-multiprocess-k3.prom")["models"]
    assert (model["engines"], model["running"], model["waiting"]) == (2, 25, 6)
    assert model["kv_cache_usage"] == 0.46


def test_the_rust_frontend_reads_as_the_python_one() -> None:
    rust = read("from-source/vllm-0.33.0-rust-frontend-k3.openmetrics")
    python = read("from-source/vllm-0.33.0-python-k3.prom")
    assert (rust["dialect"], python["dialect"]) == ("v1-rust", "v1")
    same = ("drafts", "draft_tokens", "accepted_tokens", "per_position", "running", "generation_tokens")
    assert {k: rust["models"][0][k] for k in same} == {k: python["models"][0][k] for k in same}


def test_vllm_v0_says_what_its_rate_is_worth() -> None:
    report = read("from-source/vllm-0.7.3-v0engine.prom")
    (model,) = report["models"]
    assert (report["dialect"], model["definition"]) == ("v0", "vllm-v0-any-position")
    assert model["acceptance_rate"] == pytest.approx(0.6142)
    assert (model["drafts"], model["mean_acceptance_length"]) == (None, None)
    message = " ".join(w["message"] for w in report["warnings"] if w["code"] == "v0_definition")
    assert "upper bound" in message
    assert "K=3" in message
    assert "2.408" in message


def test_tensorrt_llm_positions_have_denominators_of_their_own() -> None:
    report = read("from-source/trtllm-main-eagle3-prometheus.prom")
    (model,) = report["models"]
    assert (report["engine"], model["state"], model["method"], model["k"]) == ("trtllm", "active", "eagle3", 3)
    assert model["acceptance_rate"] == pytest.approx(17540 / 29136)
    assert model["drafts"] is None
    assert model["per_position"] == pytest.approx([7160 / 9700, 5720 / 9700, 4530 / 9700])
    assert model["mean_acceptance_length"] == pytest.approx(1 + (7160 + 5720 + 4530) / 9700)
    assert "two_populations" in codes(report)
    assert (model["running"], model["kv_cache_usage"]) == (12, 0.3725)


def test_tensorrt_llm_iterations_are_summed_and_said_to_be_drained() -> None:
    report = read("from-source/trtllm-metrics-iteration-stats.json")
    (model,) = report["models"]
    assert (report["engine"], report["source"], model["state"]) == ("trtllm", "iterations", "active")
    assert (model["drafts"], model["draft_tokens"], model["accepted_tokens"]) == (11, 33, 19)
    assert (model["running"], model["waiting"]) == (12, 3)
    assert model["kv_cache_usage"] == pytest.approx(464 / 1240)
    assert "drained_by_read" in codes(report)
