"""vLLM's page with specwatch's plugin on it, under load: the plugin's figures are vLLM's, a second late."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from specwatch_exporters.exposition import parse
from specwatch_exporters.inspection import Content, inspect
from specwatch_exporters.vllm_plugin.flush_timer import INTERVAL_S

FOLDER: Final = Path(__file__).parents[1] / "captures" / "vllm-0.25.1-h200-plugin"
CLIENT: Final[Mapping[str, float]] = json.loads((FOLDER / "figures.json").read_text())["eagle3-c32"]
SLOTS: Final = 32
# The shortest decode step of 32 requests at this load; the plugin shows a step at most one interval later.
STEP_S: Final = 0.029
LATE_DRAFTS: Final = SLOTS * INTERVAL_S / STEP_S
LATE_REQUESTS: Final = SLOTS
SPECULATION: Final = {
    "specwatch_drafts_total": "vllm:spec_decode_num_drafts_total",
    "specwatch_draft_tokens_total": "vllm:spec_decode_num_draft_tokens_total",
    "specwatch_accepted_tokens_total": "vllm:spec_decode_num_accepted_tokens_total",
}
PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
REQUESTS: Final = {
    "specwatch_request_finished_total": "vllm:request_success_total",
    "specwatch_request_e2e_latency_seconds_count": "vllm:e2e_request_latency_seconds_count",
    "specwatch_request_queue_wait_seconds_count": "vllm:request_queue_time_seconds_count",
    "specwatch_request_time_to_first_token_seconds_count": "vllm:time_to_first_token_seconds_count",
}
SECONDS: Final = {
    "specwatch_request_queue_wait_seconds": "vllm:request_queue_time_seconds",
    "specwatch_request_e2e_latency_seconds": "vllm:e2e_request_latency_seconds",
    "specwatch_request_time_to_first_token_seconds": "vllm:time_to_first_token_seconds",
}
WHEN: Final = ("before", "after")


def content(when: str) -> Content:
    path = FOLDER / f"eagle3-c32-{when}.prom"
    return Content(path.name, path.read_bytes())


@cache
def samples(when: str) -> list[Any]:
    families = parse(content(when).data.decode()).families
    return [sample for family in families for sample in family.samples]


def total(when: str, name: str, **labels: str) -> float:
    found = [one for one in samples(when) if one.name == name and labels.items() <= one.labels.items()]
    assert found, name
    return float(sum(one.value for one in found))


def grown(name: str, **labels: str) -> float:
    return total("after", name, **labels) - total("before", name, **labels)


def test_vllms_own_counters_are_the_clients() -> None:
    assert grown("vllm:request_success_total") == CLIENT["ended"]
    assert grown("vllm:generation_tokens_total") == CLIENT["streamed_tokens"]
    assert grown("vllm:time_to_first_token_seconds_count") == CLIENT["first_tokens"]
    assert grown("vllm:request_queue_time_seconds_sum") == pytest.approx(CLIENT["queue_seconds"], rel=1e-6)


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize(("ours", "theirs"), SPECULATION.items())
def test_the_plugins_drafts_are_vllms_of_a_second_ago(ours: str, theirs: str, when: str) -> None:
    most = LATE_DRAFTS * (1 if ours == "specwatch_drafts_total" else 3)
    assert 0 <= total(when, theirs) - total(when, ours) <= most
    assert abs(grown(ours) - grown(theirs)) <= most


@pytest.mark.parametrize("position", ["0", "1", "2"])
def test_the_plugins_positions_are_vllms_and_add_up(position: str) -> None:
    ours = "specwatch_accepted_tokens_per_position_total"
    drafted = "specwatch_draft_tokens_per_position_total"
    share = grown(ours, position=position) / grown("specwatch_drafts_total")
    assert share == pytest.approx(
        grown(PER_POSITION, position=position) / grown("vllm:spec_decode_num_drafts_total"), abs=0.01
    )
    for when in WHEN:  # three tokens are drafted in every step
        assert total(when, drafted, position=position) == total(when, "specwatch_drafts_total")
        assert total(when, ours) == total(when, "specwatch_accepted_tokens_total")


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize(("ours", "theirs"), REQUESTS.items())
def test_the_plugins_requests_are_vllms_of_a_second_ago(ours: str, theirs: str, when: str) -> None:
    assert 0 <= total(when, theirs) - total(when, ours) <= LATE_REQUESTS
    assert grown(ours) == pytest.approx(grown(theirs), rel=0.05)


@pytest.mark.parametrize(("ours", "theirs"), SECONDS.items())
def test_the_plugins_times_are_vllms(ours: str, theirs: str) -> None:
    mean = grown(f"{ours}_sum") / grown(f"{ours}_count")
    assert mean == pytest.approx(grown(f"{theirs}_sum") / grown(f"{theirs}_count"), rel=0.02, abs=1e-5)
    for when in WHEN:
        assert total(when, f"{ours}_sum") <= total(when, f"{theirs}_sum")


def test_the_plugins_two_views_of_drafts_agree() -> None:
    for when in WHEN:
        for name in ("drafts", "draft_tokens", "accepted_tokens"):
            assert total(when, f"specwatch_{name}_total") == total(when, f"specwatch_request_{name}_total")


def test_the_plugins_method_is_read_where_vllms_own_series_name_none() -> None:
    report = inspect(content("after"), content("before")).to_json()
    (model,) = report["models"]
    assert (report["engine"], report["warnings"]) == ("vllm", [])
    assert (model["state"], model["k"], model["method"]) == ("active", 3, "eagle3")
    assert (model["drafts"], model["definition"]) == (
        grown("vllm:spec_decode_num_drafts_total"),
        "vllm-v1-counters",
    )
