"""Pages of loaded engines before and after a measured span, against what the client saw in it (figures.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from specwatch_exporters.exposition import parse
from specwatch_exporters.inspection import Content, inspect

CAPTURES: Final = Path(__file__).parents[1] / "captures"
SGLANG: Final = CAPTURES / "sglang-0.5.17-h200-loaded"
SLOTS: Final = 32
# What the simulated acceptance was set to. SGLang draws one length for a whole batch, so that about 200 steps of 30
# requests are 200 draws and not 6000: half a token of spread gives 0.035.
SET_LENGTH: Final = {"eagle3": 2.9607, "ngram": 1.3957}


def page(method: str, when: str = "after") -> Content:
    name = f"{method}-c{SLOTS}-{when}.prom"
    return Content(name, (SGLANG / name).read_bytes())


def span(method: str) -> dict[str, Any]:
    report = inspect(page(method), page(method, "before")).to_json()
    assert report["warnings"] == []
    (model,) = report["models"]
    return dict(model)


def seen(method: str) -> dict[str, float]:
    return dict(json.loads((SGLANG / "figures.json").read_text())[f"{method}-c{SLOTS}"])


def family(content: Content, name: str) -> float:
    """Sum of one sample name over a page."""
    families = parse(content.data.decode()).families
    return sum(sample.value for one in families for sample in one.samples if sample.name == name)


@pytest.mark.parametrize("method", ["off", *SET_LENGTH])
def test_sglang_counts_the_tokens_and_requests_of_the_client(method: str) -> None:
    model, client = span(method), seen(method)
    # SGLang counts a request's tokens when it ends: those of the same requests, whatever they streamed before.
    assert model["generation_tokens"] == client["output_tokens"]
    assert model["prompt_tokens"] == client["prompt_tokens"]
    requests = "sglang:num_requests_total"
    assert family(page(method), requests) - family(page(method, "before"), requests) == client["ended"]


@pytest.mark.parametrize("method", ["off", *SET_LENGTH])
def test_sglangs_latencies_are_the_clients_less_the_way(method: str) -> None:
    latency, client = span(method)["latency"], seen(method)
    for name, count, seconds in (
        ("e2e_latency_seconds", "ended", "e2e_seconds"),
        ("time_to_first_token_seconds", "first_tokens", "ttft_seconds"),
    ):
        assert latency[name]["count"] == client[count]
        way = client[seconds] / client[count] - latency[name]["mean"]
        assert 0.0 < way < 0.01, name
    # Observed when a request is scheduled: one may be between that and its first token.
    queue = latency["queue_wait_seconds"]
    assert abs(queue["count"] - client["first_tokens"]) <= 1
    assert queue["mean"] < latency["time_to_first_token_seconds"]["mean"] / 10
    assert latency["inter_token_seconds"]["count"] == pytest.approx(client["streamed_tokens"], rel=0.01)


@pytest.mark.parametrize("method", ["off", *SET_LENGTH])
def test_sglangs_load_is_the_clients_but_for_requests_on_their_way(method: str) -> None:
    model, client = span(method), seen(method)
    assert client["in_flight"] == SLOTS
    assert SLOTS - 2 <= model["running"] + model["waiting"] <= SLOTS
    assert 0.06 < model["kv_cache_usage"] < 0.09


@pytest.mark.parametrize("method", SET_LENGTH)
def test_sglangs_draft_steps_are_the_pieces_that_the_client_got(method: str) -> None:
    model, client = span(method), seen(method)
    assert (model["state"], model["k"], model["definition"]) == ("active", 3, "sglang-tokens-per-verify")
    assert model["drafts"] == client["steps"]
    assert model["draft_tokens"] == 3 * client["steps"]
    # The first token of each request has no draft, and tokens behind the end are cut: one a request at most.
    kept = client["output_tokens"] - client["ended"] - client["steps"]
    assert 0 <= model["accepted_tokens"] - kept <= client["ended"]
    assert model["mean_acceptance_length"] == pytest.approx(client["output_tokens"] / client["steps"])


@pytest.mark.parametrize(("method", "length"), SET_LENGTH.items())
def test_sglangs_length_is_what_was_simulated(method: str, length: float) -> None:
    model = span(method)
    assert model["mean_acceptance_length"] == pytest.approx(length, abs=0.04)
    assert model["acceptance_rate"] == pytest.approx((length - 1) / 3, abs=0.014)
    # The gauge holds the last interval alone, and is not what is reported.
    gauge = family(page(method), "sglang:spec_accept_length")
    assert gauge == pytest.approx(length, abs=0.05)
    assert gauge != pytest.approx(model["mean_acceptance_length"], abs=0.01)


def test_sglang_off_has_gauges_at_zero_and_no_counter_of_speculation() -> None:
    after = page("off")
    assert b"sglang:spec_verify_calls" not in after.data
    assert {family(after, f"sglang:spec_{name}") for name in ("accept_length", "accept_rate", "num_steps")} == {0.0}
    for model in (span("off"), inspect(after).to_json()["models"][0]):
        assert (model["state"], model["definition"], model["k"], model["method"]) == ("off", "none", None, None)
        assert {model[name] for name in ("drafts", "draft_tokens", "accepted_tokens", "acceptance_rate")} == {None}
        assert model["mean_acceptance_length"] is None


@pytest.mark.parametrize("method", SET_LENGTH)
def test_sglangs_page_names_no_method(method: str) -> None:
    assert span(method)["method"] is None
