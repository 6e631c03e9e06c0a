from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from exporters.replay.replay_client import samples_of, value
from specwatch_exporters.replay.scheduler import Scheduler
from specwatch_exporters.replay.sequence import Submission
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.step_result import StepResult
from specwatch_exporters.replay.vllm_page import VllmPage

CAPTURE = Path(__file__).parents[2] / "captures" / "vllm-0.32.0-cpu" / "ngram-k3.prom"
OLDER = Path(__file__).parents[2] / "captures" / "vllm-0.25.1-h200"


def families(page: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(page)}


def labels_of(family: Metric) -> set[frozenset[str]]:
    return {frozenset(sample.labels) for sample in family.samples}


def played(settings: ReplaySettings, prompt: int = 4, output: int = 40) -> str:
    """The page after one request, of the same size as the capture's by default."""
    scheduler, page = Scheduler(settings), VllmPage(settings, started=1000.0)
    scheduler.submit(Submission("r", settings.class_named(None), prompt, output), 0.0)
    now = 0.0
    while (result := scheduler.step(now)) is not None:
        now = result.ended
        page.record(result)
    page.http.note("POST", "/v1/completions", 200, 0.1, (73, 1141))
    return page.render().decode()


CAPTURED = families(CAPTURE.read_text())
OURS = families(played(ReplaySettings(method="ngram", max_model_len=1024)))
VLLM_NAMES = sorted(
    name for name in {*CAPTURED, *OURS} if name.startswith(("vllm:", "http_", "process_", "python_"))
)


@pytest.mark.parametrize("name", VLLM_NAMES)
def test_each_family_is_a_real_one_with_its_type_and_labels(name: str) -> None:
    assert OURS[name].type == CAPTURED[name].type
    assert labels_of(OURS[name]) == labels_of(CAPTURED[name])


def test_families_come_in_the_real_order() -> None:
    real = [name for name in CAPTURED if name.startswith("vllm:")]
    assert [name for name in OURS if name.startswith("vllm:")] == real


def test_series_differ_from_the_capture_in_model_geometry_and_finish_only() -> None:
    def series(found: dict[str, Metric]) -> set[tuple[str, frozenset[tuple[str, str]]]]:
        return {
            (sample.name, frozenset((key, text) for key, text in sample.labels.items() if key != "model_name"))
            for name, family in found.items()
            if name.startswith("vllm:") and name != "vllm:cache_config_info"
            for sample in family.samples
        }

    assert series(OURS) == series(CAPTURED)


@pytest.mark.parametrize("page", sorted(OLDER.glob("l70-*.prom")), ids=lambda path: path.stem)
def test_every_family_of_an_older_release_is_still_there(page: Path) -> None:
    older = {name for name in families(page.read_text()) if name.startswith("vllm:")}
    assert older <= set(OURS)


def test_every_speculative_series_exists_from_the_start() -> None:
    samples = samples_of(VllmPage(ReplaySettings(), started=1.0).render().decode())
    positions = {
        dict(labels)["position"]: number
        for (name, labels), number in samples.items()
        if name == "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    }
    assert positions == {"0": 0.0, "1": 0.0, "2": 0.0}
    assert value(samples, "vllm:spec_decode_num_drafts_total") == 0.0


def test_without_speculation_no_speculative_series_exists() -> None:
    page = played(ReplaySettings(method="off"))
    assert "spec_decode" not in page
    assert value(samples_of(page), "vllm:generation_tokens_total") == 40.0


def test_a_live_k_of_zero_keeps_the_series_and_drafts_nothing() -> None:
    samples = samples_of(played(ReplaySettings(live_k=0)))
    assert value(samples, "vllm:spec_decode_num_drafts_total") == 0.0
    assert value(samples, "vllm:spec_decode_num_accepted_tokens_per_pos_total", position="2") == 0.0
    assert value(samples, "vllm:inter_token_latency_seconds_count") == 39.0


def test_one_request_is_counted_everywhere_once() -> None:
    samples = samples_of(played(ReplaySettings(), prompt=10, output=30))
    for name, expected in {
        "vllm:prompt_tokens_total": 10,
        "vllm:prefix_cache_queries_total": 10,
        "vllm:generation_tokens_total": 30,
        "vllm:time_to_first_token_seconds_count": 1,
        "vllm:e2e_request_latency_seconds_count": 1,
        "vllm:request_generation_tokens_sum": 30,
        "vllm:request_params_max_tokens_sum": 30,
        "vllm:request_prompt_tokens_sum": 10,
        "vllm:iteration_tokens_total_sum": 40,
        "vllm:num_requests_running": 0,
    }.items():
        assert value(samples, name) == expected, name
    assert value(samples, "vllm:request_success_total", finished_reason="length") == 1
    drafts = value(samples, "vllm:spec_decode_num_drafts_total")
    assert value(samples, "vllm:inter_token_latency_seconds_count") == drafts
    assert value(samples, "vllm:iteration_tokens_total_count") == 1 + (drafts or 0)


def test_parts_of_a_request_add_up() -> None:
    samples = samples_of(played(ReplaySettings(), prompt=100, output=50))
    parts = {
        part: value(samples, f"vllm:{part}_seconds_sum") or 0.0
        for part in (
            "e2e_request_latency",
            "request_queue_time",
            "request_prefill_time",
            "request_decode_time",
            "request_inference_time",
            "inter_token_latency",
            "request_time_per_output_token",
        )
    }
    assert parts["request_inference_time"] == pytest.approx(
        parts["request_prefill_time"] + parts["request_decode_time"]
    )
    assert parts["e2e_request_latency"] == pytest.approx(
        parts["request_queue_time"] + parts["request_inference_time"]
    )
    assert parts["inter_token_latency"] == pytest.approx(parts["request_decode_time"])
    assert parts["request_time_per_output_token"] * 49 == pytest.approx(parts["request_decode_time"])


def test_the_process_starts_when_told() -> None:
    samples = samples_of(VllmPage(ReplaySettings(), started=1_795_969_462.5).render().decode())
    assert value(samples, "process_start_time_seconds") == 1_795_969_462.5
    assert (value(samples, "process_cpu_seconds_total") or 0.0) < 5.0


def test_an_idle_step_changes_no_counter() -> None:
    page = VllmPage(ReplaySettings(), started=1.0)
    page.record(StepResult(ended=1.0))
    samples = samples_of(page.render().decode())
    assert value(samples, "vllm:generation_tokens_total") == 0.0
    assert value(samples, "vllm:iteration_tokens_total_count") == 1.0
