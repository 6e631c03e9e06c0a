"""Traps of engine pages, one small page each."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from specwatch_exporters.inspection import Content, InspectionError, inspect

PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


def read(text: str, since: str | None = None, **kwargs: str) -> dict[str, Any]:
    earlier = None if since is None else Content("earlier", since.encode())
    return inspect(Content("page", text.encode(), **kwargs), earlier).to_json()


def codes(report: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in report["warnings"]}


def vllm(
    drafts: float, drafted: float, accepted: float, *, engine: str = "0", tokens: float = 0, more: str = ""
) -> str:
    labels = f'{{engine="{engine}",model_name="m"}}'
    return (
        f"vllm:spec_decode_num_drafts_total{labels} {drafts}\n"
        f"vllm:spec_decode_num_draft_tokens_total{labels} {drafted}\n"
        f"vllm:spec_decode_num_accepted_tokens_total{labels} {accepted}\n"
        f"vllm:generation_tokens_total{labels} {tokens}\n{more}"
    )


def test_a_page_without_type_lines_is_read_all_the_same() -> None:
    (model,) = read(vllm(10, 30, 15))["models"]
    assert (model["acceptance_rate"], model["mean_acceptance_length"]) == (0.5, 2.5)


def test_ten_and_more_positions_come_in_numeric_order() -> None:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    lines = "".join(
        f'{name}{{model_name="m",engine="0",position="{p}"}} {100 - p}\n'
        for p in (10, 2, 0, 1, 11, 3, 4, 5, 6, 7, 8, 9)
    )
    (model,) = read(vllm(100, 1200, 1000, more=lines))["models"]
    assert model["per_position"] == pytest.approx([(100 - p) / 100 for p in range(12)])
    assert model["k"] == 12


def test_since_gives_increases_and_no_reset() -> None:
    report = read(vllm(110, 330, 215), since=vllm(100, 300, 200))
    (model,) = report["models"]
    assert (model["drafts"], model["draft_tokens"], model["accepted_tokens"]) == (10, 30, 15)
    assert (report["resets"], codes(report)) == (0, set())


def test_since_counts_a_reset_and_never_a_negative() -> None:
    report = read(vllm(10, 30, 20), since=vllm(100, 300, 200))
    (model,) = report["models"]
    assert (model["drafts"], model["accepted_tokens"], report["resets"]) == (10, 20, 1)
    assert "reset" in codes(report)


def test_since_resets_one_engine_of_two() -> None:
    before = vllm(100, 300, 200, engine="0") + vllm(50, 150, 100, engine="1")
    after = vllm(110, 330, 215, engine="0") + vllm(5, 15, 9, engine="1")
    report = read(after, since=before)
    (model,) = report["models"]
    assert (model["drafts"], model["accepted_tokens"], report["resets"]) == (15, 24, 1)


def test_tokens_without_drafts_are_off_and_silence_is_idle() -> None:
    running = read(vllm(100, 300, 200, tokens=900), since=vllm(100, 300, 200, tokens=500))
    assert (running["models"][0]["state"], codes(running)) == ("off", {"not_drafting"})
    assert running["models"][0]["acceptance_rate"] is None
    silent = read(vllm(100, 300, 200, tokens=500), since=vllm(100, 300, 200, tokens=500))
    assert silent["models"][0]["state"] == "idle"


def test_nan_infinite_and_negative_samples_are_left_out() -> None:
    report = read(vllm(10, 30, float("nan")))
    (model,) = report["models"]
    assert (model["accepted_tokens"], model["acceptance_rate"]) == (None, None)
    assert "bad_value" in codes(report)
    assert "bad_value" in codes(read(vllm(-1, 30, 10)))


def test_more_accepted_than_drafted_is_refused() -> None:
    report = read(vllm(10, 30, 31))
    assert report["models"][0]["acceptance_rate"] is None
    assert "inconsistent_counts" in codes(report)


def test_a_series_that_appears_twice_counts_once() -> None:
    report = read(vllm(10, 30, 15) + vllm(10, 30, 15))
    assert report["models"][0]["drafts"] == 10
    assert "duplicate_series" in codes(report)


def test_the_present_name_wins_over_the_former_one() -> None:
    both = (
        'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5\n'
        'vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.9\n'
    )
    report = read(both)
    assert (report["models"][0]["kv_cache_usage"], "renamed_metric" in codes(report)) == (0.5, False)
    old = read('vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.9\n')
    assert (old["models"][0]["kv_cache_usage"], "renamed_metric" in codes(old)) == (0.9, True)


def test_pods_of_a_federated_page_are_engines_of_their_own() -> None:
    page = "".join(
        f'vllm:num_requests_waiting{{engine="0",model_name="m",pod="{pod}"}} 3\n'
        f'vllm:kv_cache_usage_perc{{engine="0",model_name="m",pod="{pod}"}} 0.4\n'
        for pod in ("a", "b")
    )
    (model,) = read(page)["models"]
    assert (model["engines"], model["waiting"], model["kv_cache_usage"]) == (2, 6, 0.4)


def test_a_dynamo_worker_page_is_its_engines() -> None:
    page = "dynamo_component_requests_total 5\n" + vllm(10, 30, 15).replace(
        'model_name="m"', 'model_name="m",model="m",worker_id="w1",dynamo_namespace="d"'
    )
    report = read(page)
    assert (report["engine"], report["dialect"], report["models"][0]["drafts"]) == ("vllm", "v1-dynamo", 10)


def test_a_malformed_exemplar_does_not_cost_the_page() -> None:
    page = (
        "# TYPE vllm:spec_decode_num_drafts counter\n"
        'vllm:spec_decode_num_drafts_total{model_name="m",engine="0"} 5 # {broken\n'
        "# EOF\n"
    )
    report = read(page, content_type="application/openmetrics-text; version=1.0.0")
    assert report["models"][0]["drafts"] == 5
    assert "malformed_page" in codes(report)


def test_a_cut_openmetrics_page_is_refused() -> None:
    page = 'vllm:spec_decode_num_drafts_total{model_name="m",engine="0"} 5\n'
    with pytest.raises(InspectionError, match="# EOF"):
        read(page, content_type="application/openmetrics-text")


def test_label_values_may_hold_anything() -> None:
    hostile = 'a\\"b\\\\c\\n<script>☃'
    (model,) = read(vllm(10, 30, 15).replace('"m"', f'"{hostile}"'))["models"]
    assert model["model"] == 'a"b\\c\n<script>☃'


SGLANG = (
    'sglang:spec_accept_length{{model_name="m"{more}}} {length}\n'
    'sglang:spec_accept_rate{{model_name="m"{more}}} {rate}\n'
)


@pytest.mark.parametrize(
    ("length", "rate", "more", "expected"),
    [
        (2.8, 0.7, "", 0.6),  # 0.5.6 to 0.5.10: (A+S)/(S*(K+1)), K=3
        (2.8, 0.6, "", 0.6),  # 0.5.11 and newer: A/(S*K), K=3
        (4.0, 0.8, "", 0.75),
        (2.65, 0.55, "", 0.55),
    ],
)
def test_sglangs_rate_formula_is_told_from_its_length(
    length: float, rate: float, more: str, expected: float
) -> None:
    report = read(
        SGLANG.format(length=length, rate=rate, more=more) + 'sglang:num_running_reqs{model_name="m"} 4\n'
    )
    (model,) = report["models"]
    assert model["acceptance_rate"] == pytest.approx(expected)
    assert (model["mean_acceptance_length"], model["definition"]) == (length, "sglang-gauge")
    assert "gauge_only" in codes(report)


def test_sglangs_gauge_of_an_idle_engine_is_stale() -> None:
    report = read(SGLANG.format(length=2.8, rate=0.6, more="") + 'sglang:num_running_reqs{model_name="m"} 0\n')
    assert (report["models"][0]["state"], "stale_gauge" in codes(report)) == ("idle", True)


def test_sglangs_draft_scheduler_is_a_copy() -> None:
    page = SGLANG.format(length=2.8, rate=0.6, more=',engine_type="unified"') + SGLANG.format(
        length=2.7, rate=0.5, more=',engine_type="draft"'
    ).replace('"m"', '"draft-model"')
    report = read(page)
    assert [model["model"] for model in report["models"]] == ["m"]
    assert "draft_copy" in codes(report)


def test_sglangs_adaptive_tier_zero_is_off_not_a_collapse() -> None:
    page = (
        SGLANG.format(length=1.0, rate=0.0, more="")
        + 'sglang:spec_num_steps{model_name="m"} 0\nsglang:spec_num_draft_tokens{model_name="m"} 1\n'
        + 'sglang:spec_verify_calls_total{model_name="m"} 500\nsglang:generation_tokens_total{model_name="m"} 500\n'
    )
    report = read(page)
    assert (report["models"][0]["state"], "not_drafting" in codes(report)) == ("off", True)
    assert report["models"][0]["acceptance_rate"] is None


def test_sglangs_underscore_spelling() -> None:
    report = read('sglang_num_running_reqs{dp_rank="0"} 12\nsglang_spec_accept_length{dp_rank="0"} 2.79\n')
    assert (report["engine"], report["models"][0]["running"]) == ("sglang", 12)


def test_tensorrt_llms_first_names_had_no_prefix() -> None:
    page = (
        'request_queue_time_seconds_count{engine_type="undefined",model_name="undefined"} 2.0\n'
        'request_success_total{engine_type="undefined",finish_reason="stop",model_name="undefined"} 2.0\n'
    )
    report = read(page)
    assert (report["engine"], report["dialect"]) == ("trtllm", "prometheus-unprefixed")


def test_tensorrt_llms_gauges_are_one_process_many_pids() -> None:
    page = "".join(
        f'trtllm_num_requests_running{{model_name="m",pid="{pid}"}} {n}\n' for pid, n in ((1, 12), (2, 0))
    )
    assert read(page)["models"][0]["running"] == 12


def test_gzip_is_opened_and_its_damage_named() -> None:
    data = gzip.compress(vllm(10, 30, 15).encode())
    assert inspect(Content("page.gz", data)).models[0].tally.drafts == 10
    with pytest.raises(InspectionError, match="cut"):
        inspect(Content("page.gz", data[:-12]))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"<!DOCTYPE html><html></html>", "HTML"),
        (b"\x00\x01\x02 binary", "binary"),
        (b"just some words of a letter\n", "neither a metrics page"),
        (b'{"detail":"Not Found"}', "neither a metrics page"),
        (b'vllm:x{a="b" 1\n# TYPE vllm:x counter\n', "not a metrics page"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(data: bytes, words: str) -> None:
    with pytest.raises(InspectionError, match=words) as error:
        inspect(Content("source", data))
    assert "\n" not in str(error.value)
