"""SGLang's `/server_info` and `/v1/loads`, made after sgl-project/sglang#34743 and sgl-project/sglang-jax#1586."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporters.page_text import codes, read

INFO: dict[str, Any] = {
    "model_path": "org/target",
    "api_key": "not to be shown",
    "speculative_algorithm": "EAGLE3",
    "speculative_num_steps": 5,
    "speculative_num_draft_tokens": 6,
    "version": "0.5.20",
}


def server(lengths: list[float | None], **more: Any) -> dict[str, Any]:
    states = [{"avg_spec_accept_length": length, "last_gen_throughput": 1.0} for length in lengths]
    return read(json.dumps({**INFO, **more, "internal_states": states}))


def test_ranks_that_verified_nothing_are_no_zeros() -> None:
    report = server([None, None, 2.90, 3.67, None, 4.64])
    (model,) = report["models"]
    assert (report["engine"], report["source"], model["state"], model["engines"]) == (
        "sglang",
        "server",
        "active",
        6,
    )
    assert model["mean_acceptance_length"] == pytest.approx((2.90 + 3.67 + 4.64) / 3)
    assert model["acceptance_rate"] == pytest.approx(((2.90 + 3.67 + 4.64) / 3 - 1) / 5)
    assert (model["model"], model["k"], model["method"]) == ("org/target", 5, "eagle3")
    assert "none, none, 2.9, 3.67, none, 4.64" in report["warnings"][0]["message"]
    assert "not to be shown" not in json.dumps(report)


@pytest.mark.parametrize(
    ("lengths", "more", "state", "length"),
    [
        ([None], {}, "idle", None),
        ([0.0], {}, "idle", None),
        ([None], {"speculative_algorithm": None}, "off", None),
        ([1.0], {}, "active", 1.0),
        ([], {}, "idle", None),
    ],
)
def test_states(lengths: list[float | None], more: dict[str, Any], state: str, length: float | None) -> None:
    report = server(lengths, **more)
    assert (report["models"][0]["state"], report["models"][0]["mean_acceptance_length"]) == (state, length)
    assert ("drafts_rejected" in codes(report)) == (length == 1.0)


def test_a_length_beyond_k_gives_no_rate() -> None:
    report = server([4.64], speculative_num_draft_tokens=4)
    assert report["models"][0]["acceptance_rate"] is None
    assert "inconsistent_counts" in codes(report)


def test_an_adaptive_engines_k_is_not_the_one_it_started_with() -> None:
    assert server([2.5], speculative_adaptive=True)["models"][0]["acceptance_rate"] is None


@pytest.mark.parametrize(("version", "rate"), [("0.5.23", 0.5), ("0.5.9", None)])
def test_loads_have_two_spans_and_the_rate_its_versions_formula(version: str, rate: float | None) -> None:
    loads = [
        {"dp_rank": 0, "num_running_reqs": 3, "num_waiting_reqs": 1, "token_usage": 0.4},
        {"dp_rank": 1, "num_running_reqs": 1, "num_waiting_reqs": 0, "token_usage": 0.1},
        {"dp_rank": 2, "num_running_reqs": 0, "num_waiting_reqs": 0, "token_usage": 0.0},
    ]
    spoken = [(2.6, 0.6), (2.4, 0.2), (2.2, 0.9)]
    for load, (length, share) in zip(loads, spoken, strict=True):
        load["speculative"] = {"accept_length": length, "accept_rate": share}  # type: ignore[assignment]
    report = read(json.dumps({"version": version, "loads": loads}))
    (model,) = report["models"]
    assert model["acceptance_rate"] == (None if rate is None else pytest.approx(rate))
    assert model["mean_acceptance_length"] == pytest.approx(2.4)
    assert (model["running"], model["waiting"], model["kv_cache_usage"]) == (4, 1, 0.4)
    assert "gauge_only" in codes(report)
