"""Cases that people reported, each with the numbers that follow from it (tests/cases/<case>/expected.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specwatch_exporters.inspection import Content, inspect

CASES = Path(__file__).parent.parent / "cases"
KEYS = {"accepted": "accepted_tokens"}


def read(case: str, name: str, content_type: str = "") -> dict[str, Any]:
    return inspect(Content(name, (CASES / case / name).read_bytes(), content_type)).to_json()


def expected(case: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((CASES / case / "expected.json").read_text())
    return body


def codes(report: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in report["warnings"]}


def check(model: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        got = model[KEYS.get(name, name)]
        assert got == (pytest.approx(value, abs=1e-3) if value is not None else None), name


def test_01_eight_engines_are_summed_and_created_is_no_data() -> None:
    (model,) = read("01-dp8-engines-created", "metrics.txt")["models"]
    assert (model["drafts"], model["engines"], model["acceptance_rate"]) == (188, 8, None)
    assert model["mean_acceptance_length"] is None
    assert model["per_position"] == []


@pytest.mark.parametrize("backwards", [False, True])
def test_03_positions_are_summed_over_engines_in_any_order(*, backwards: bool) -> None:
    case = "03-two-engines-per-position-sum"
    lines = (CASES / case / "metrics.txt").read_text().splitlines()
    families = [lines[start : start + 4] for start in range(0, len(lines), 4)]
    if backwards:
        families = [[*family[:2], *family[:1:-1]] for family in families]
    text = "\n".join(line for family in families for line in family) + "\n"
    (model,) = inspect(Content("page", text.encode())).to_json()["models"]
    check(model, expected(case))


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("openmetrics.txt", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        ("openmetrics.txt", "text/plain"),
        ("openmetrics.txt", ""),
        ("classic.txt", "text/plain; version=0.0.4; charset=utf-8"),
    ],
)
def test_06_openmetrics_and_classic_give_the_same(name: str, content_type: str) -> None:
    report = read("06-rust-frontend-openmetrics", name, content_type)
    (model,) = report["models"]
    check(model, expected("06-rust-frontend-openmetrics"))
    assert model["prompt_tokens"] == 34567503
    assert model["running"] == 1
    assert "counter_as_gauge" not in codes(report)


def test_08_the_kv_gauge_is_one_engine_not_eight_processes() -> None:
    (model,) = read("08-multiprocess-pid-gauges", "metrics.txt")["models"]
    assert model["kv_cache_usage"] == pytest.approx(expected("08-multiprocess-pid-gauges")["kv_usage"])
    assert model["engines"] == 1


def test_11_zeros_of_an_engine_without_speculation_are_off_and_absence_is_unknown() -> None:
    off = read("11-spec-off-all-zero", "spec_off_sglang.txt")
    assert (off["models"][0]["state"], off["models"][0]["acceptance_rate"]) == ("off", None)
    assert off["models"][0]["mean_acceptance_length"] is None
    absent = read("11-spec-off-all-zero", "spec_absent_vllm.txt")
    assert (absent["models"][0]["state"], absent["models"][0]["acceptance_rate"]) == ("unknown", None)
    assert "no_spec_series" in codes(absent)


def test_12_a_page_of_python_series_is_no_engine() -> None:
    report = read("12-only-python-gc", "metrics.txt")
    assert (report["engine"], report["models"]) == (None, [])
    (message,) = [w["message"] for w in report["warnings"] if w["code"] == "no_engine"]
    assert "No vLLM, SGLang or TensorRT-LLM series" in message


def test_16_dynamos_frontend_points_to_the_worker() -> None:
    report = read("16-dynamo-frontend-only", "metrics.txt")
    (model,) = report["models"]
    assert report["engine"] == "dynamo-frontend"
    assert (model["state"], model["acceptance_rate"]) == ("unknown", None)
    names = ("context_length", "kv_cache_block_size", "max_num_batched_tokens", "max_num_seqs")
    assert [model[name] for name in names] == [131072, 64, 8192, 256]
    assert "worker" in next(w["message"] for w in report["warnings"] if w["code"] == "frontend_only")


def test_17_rays_spellings_mean_vllms_names() -> None:
    wanted = expected("17-ray-prefix-three-spellings")
    (colon,) = read("17-ray-prefix-three-spellings", "ray_colon.txt")["models"]
    step = colon["latency"]["inter_token_step_seconds"]
    assert colon["generation_tokens"] == wanted["generation_tokens"]
    assert (step["p50"], step["p99"], step["mean"]) == (
        pytest.approx(wanted["tpot_p50"], abs=1e-4),
        pytest.approx(wanted["tpot_p99"], abs=1e-4),
        pytest.approx(wanted["tpot_mean"], abs=1e-4),
    )
    assert colon["prefix_cache_hit_rate"] is None
    (underscore,) = read("17-ray-prefix-three-spellings", "ray_underscore.txt")["models"]
    assert underscore["acceptance_rate"] == pytest.approx(wanted["rate_underscore"], abs=1e-4)
    assert underscore["engines"] == 2


def test_17_a_ray_serve_page_is_named_not_silently_dropped() -> None:
    report = read("17-ray-prefix-three-spellings", "ray_252.txt")
    assert report["engine"] is None
    assert {"ray_serve_page", "no_engine"} <= codes(report)


def test_17_a_counter_as_gauge_without_total_is_a_counter() -> None:
    text = (
        '# TYPE ray_vllm_generation_tokens gauge\nray_vllm_generation_tokens{model_name="m",ReplicaId="a"} 41.0\n'
    )
    report = inspect(Content("page", text.encode())).to_json()
    assert report["models"][0]["generation_tokens"] == 41
    assert "counter_as_gauge" in codes(report)


def test_22_log_lines_of_four_generations() -> None:
    report = read("22-vllm-log-line-variants", "vllm.log")
    wanted = expected("22-vllm-log-line-variants")
    assert [window["partial"] for window in report["windows"]].index(True) + 1 == wanted["partial_line"]
    assert len(report["windows"]) == len(wanted["rows"])
    for got, row in zip(report["windows"], wanted["rows"], strict=True):
        check(got, row)
    assert [window["engine"] for window in report["windows"]][-2:] == ["002", "004"]
    assert "line_partial" in codes(report)


def test_29_sglangs_rate_is_converted_and_its_zeros_are_not_believed() -> None:
    (log,) = read("29-sglang-accept-rate-formula", "sglang.log")["models"]
    assert log["acceptance_rate"] == pytest.approx(expected("29-sglang-accept-rate-formula")["corrected_rate"])
    assert log["mean_acceptance_length"] == 4
    client = read("29-sglang-accept-rate-formula", "client_meta_info.json")
    assert client["models"][0]["acceptance_rate"] is None
    assert "client_zero_conflict" in codes(client)
    over = read("29-sglang-accept-rate-formula", "over_one.txt")
    assert over["models"][0]["acceptance_rate"] is None
    assert "rate_over_one" in codes(over)


def test_34_what_drafting_nothing_costs() -> None:
    report = read("34-dynamic-k-collapse", "results.json")
    wanted = expected("34-dynamic-k-collapse")
    by_level = {(c["concurrency"], c["measure"]): c for c in report["comparisons"]}
    assert by_level[1, "tok_s"]["change_pct"] == pytest.approx(-wanted["single_stream_drop_pct"], abs=0.01)
    assert by_level[2, "tpot_ms"]["change_pct"] == pytest.approx(wanted["tax_c2_pct"], abs=0.01)
    assert by_level[189, "tpot_ms"]["change_pct"] == pytest.approx(wanted["tax_c189_pct"], abs=0.01)
    assert by_level[8, "tok_s"]["change_pct"] == pytest.approx([-89.7, -32.3], abs=0.1)
    assert by_level[8, "wall_s"]["factor"] == pytest.approx([6.3, 9.5], abs=0.1)
    assert all(comparison["worse"] for comparison in report["comparisons"])
    assert len([w for w in report["warnings"] if w["code"] == "zero_draft_tax"]) == 2


@pytest.mark.parametrize("name", ["stream.sse", "early_build.json"])
def test_50_the_record_of_a_request_is_recomputed_from_counts(name: str) -> None:
    report = read("50-vllm-per-request-metrics-in-stream", name)
    (model,) = report["models"]
    wanted = expected("50-vllm-per-request-metrics-in-stream")
    check(model, {key: wanted[key] for key in ("drafts", "draft_tokens", "accepted", "acceptance_rate")})
    assert model["mean_acceptance_length"] == pytest.approx(wanted["mean_acceptance_length"], abs=1e-6)
    assert model["k"] == 3
    assert model["per_position"] == pytest.approx([4 / 43, 3 / 43, 3 / 43])


def test_52_the_first_token_is_the_first_content() -> None:
    (model,) = read("52-sse-empty-first-chunks-and-merged-finish", "stream.sse")["models"]
    wanted = expected("52-sse-empty-first-chunks-and-merged-finish")
    assert model["ttft_chunk"] == wanted["ttft_chunk"]
    assert model["completion_tokens"] == wanted["completion_tokens"]
    assert model["complete"] == wanted["complete"]
    assert model["state"] == "unknown"
