"""Traps of engine pages, one small page each."""

from __future__ import annotations

import gzip

import pytest

from exporters.page_text import PER_POSITION, codes, positions, read, sample, vllm
from specwatch_exporters.inspection import Content, InspectionError, inspect


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
    with pytest.raises(InspectionError, match="breaks off"):
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


def test_series_that_differ_in_any_collectors_label_are_added_not_merged() -> None:
    page = "".join(
        vllm(n, n, 1).replace('model_name="m"', f'model_name="m",pod="p",instance="{port}"')
        for n, port in ((100, 8000), (300, 8001))
    )
    assert read(page)["models"][0]["drafts"] == 400


def test_a_prefill_worker_generates_first_tokens_and_is_no_failure() -> None:
    more = sample("vllm:time_to_first_token_seconds_count", 50, engine="0") + sample("vllm:cache_config_info", 1)
    report = read(vllm(0, 0, 0, tokens=50, more=more))
    assert (report["models"][0]["state"], codes(report)) == ("idle", set())


def test_zeros_of_a_partial_page_say_nothing_about_the_configuration() -> None:
    report = read(vllm(0, 0, 0, tokens=50))
    assert (report["models"][0]["state"], "not_drafting" in codes(report)) == ("off", False)


def test_a_latched_gate_shows_in_tensorrt_llms_iterations() -> None:
    body = (
        '[{"iter":1,"iterLatencyMS":9.0,"numActiveRequests":8,"numQueuedRequests":0,'
        '"specDecodingStats":{"numDraftTokens":0,"numAcceptedTokens":0,"numRequestsWithDraftTokens":0}}]'
    )
    report = read(body)
    assert (report["models"][0]["state"], "not_drafting" in codes(report)) == ("off", True)


def test_tensorrt_llms_spec_gauges_of_one_release_are_no_counters() -> None:
    name = "trtllm_spec_decode_num_draft_tokens_total"
    report = read(
        f'# TYPE {name} gauge\n{name}{{model_name="m"}} 33\ntrtllm_num_requests_running{{model_name="m"}} 1\n'
    )
    assert (report["models"][0]["draft_tokens"], "bad_value" in codes(report)) == (None, True)


def test_a_missing_position_is_unknown_and_rising_ones_are_refused() -> None:
    (gap,) = read(vllm(100, 300, 70, more=positions((1, 50), (2, 20))))["models"]
    assert gap["per_position"] == [None, 0.5, 0.2]
    rising = read(vllm(100, 300, 190, more=positions((0, 20), (1, 80), (2, 90))))
    assert (rising["models"][0]["per_position"], "inconsistent_counts" in codes(rising)) == ([], True)
    over = read(vllm(100, 300, 300, more=positions((0, 120), (1, 100), (2, 80))))
    assert "inconsistent_counts" in codes(over)
    assert "inconsistent_counts" in codes(
        read(vllm(1000, 3000, 2000, more=positions((0, 800), (1, 300), (2, 100))))
    )


def test_k_of_a_frontend_that_adds_positions_late_is_not_guessed() -> None:
    assert read(vllm(100, 300, 60, more=positions((0, 60))))["models"][0]["k"] is None


def test_gzip_members_are_read_to_the_last() -> None:
    data = gzip.compress(vllm(10, 30, 15).encode()) + gzip.compress(
        b'vllm:num_requests_waiting{model_name="m"} 7\n'
    )
    (model,) = inspect(Content("ab.gz", data)).to_json()["models"]
    assert (model["drafts"], model["waiting"]) == (10, 7)


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000])
def test_json_nested_beyond_reason_is_one_line(text: str) -> None:
    with pytest.raises(InspectionError, match="neither"):
        read(text)


def test_a_kv_share_over_one_is_refused() -> None:
    report = read('vllm:kv_cache_usage_perc{engine="0",model_name="m"} 65.3\n' + vllm(1, 1, 1))
    assert (report["models"][0]["kv_cache_usage"], "bad_value" in codes(report)) == (None, True)


def test_facts_of_several_series_are_not_added() -> None:
    page = "".join(f'dynamo_frontend_model_context_length{{model="m",worker="{w}"}} 131072\n' for w in "ab")
    assert read(page)["models"][0]["context_length"] == 131072


def test_ten_thousand_models_are_read_in_one_pass() -> None:
    page = "".join(f'vllm:spec_decode_num_drafts_total{{engine="0",model_name="m{i}"}} 1\n' for i in range(10_000))
    assert len(read(page)["models"]) == 10_000


def test_true_denominators_are_shown_beside_those_over_all_drafts() -> None:
    name = "vllm:spec_decode_num_draft_tokens_per_pos_total"
    drafted = "".join(f'{name}{{model_name="m",engine="0",position="{p}"}} {n}\n' for p, n in ((0, 1000), (1, 100)))
    (model,) = read(vllm(1000, 1100, 870, more=positions((0, 800), (1, 70)) + drafted))["models"]
    assert model["per_position"] == [0.8, 0.07]
    assert model["per_drafted"] == [0.8, 0.7]


def test_a_page_that_breaks_off_inside_its_last_line_loses_that_line_only() -> None:
    report = read(vllm(10, 30, 15) + 'vllm:num_requests_waiting{model_name="m')
    assert (report["models"][0]["drafts"], report["models"][0]["waiting"]) == (10, None)
    assert "page_truncated" in codes(report)


@pytest.mark.parametrize("position", ["²", "2000000000", "-1", "x", "1.5"])
def test_odd_positions_are_left_out(position: str) -> None:
    line = sample(PER_POSITION, 5, engine="0", position=position)
    assert read(vllm(10, 30, 15, more=line))["models"][0]["per_position"] == []


def test_numbers_that_no_engine_reaches_are_left_out() -> None:
    report = read(vllm(1, 1e308, 1e308) + vllm(1, 1e308, 1e308, engine="1"))
    assert (report["models"][0]["draft_tokens"], "bad_value" in codes(report)) == (None, True)


def test_long_names_are_cut_and_stay_apart() -> None:
    page = "".join(vllm(n, n, 0).replace('"m"', f'"{"long" * 100}{n}"') for n in (5, 6))
    models = read(page)["models"]
    assert sorted(model["drafts"] for model in models) == [5, 6]
    assert all(len(model["model"]) <= 256 for model in models)


def test_a_page_of_two_engines_says_which_was_read() -> None:
    report = read(vllm(10, 30, 15) + 'sglang:num_running_reqs{model_name="m"} 4\n')
    assert (report["engine"], "mixed_engines" in codes(report)) == ("vllm", True)


def test_an_excerpt_with_positions_only_was_drafting() -> None:
    """Neither drafts nor totals: how many there were is unknown, but not that there were any."""
    model = read(positions((0, 900), (1, 600), (2, 300)))["models"][0]
    assert (model["state"], model["drafts"], model["acceptance_rate"]) == ("active", None, None)
    assert model["accepted_tokens"] == 1800
    assert model["conditional"] == [None, pytest.approx(2 / 3), pytest.approx(0.5)]


def test_positions_and_drafts_give_the_length_without_the_total() -> None:
    model = read(sample("vllm:spec_decode_num_drafts_total", 1000, engine="0") + positions((0, 900), (1, 600)))
    assert model["models"][0]["mean_acceptance_length"] == pytest.approx(2.5)


def test_an_excerpt_about_the_cache_does_not_say_that_speculation_is_off() -> None:
    """Made after vllm-project/vllm#15719: the one series that only whole Python pages have, quoted by itself."""
    cache = sample("vllm:cache_config_info", "1.0", num_gpu_blocks="None", engine="0")
    report = read(cache + sample("vllm:num_requests_running", 1, engine="0"))
    assert report["models"][0]["state"] == "unknown"
    assert "no_spec_series" in codes(report)


@pytest.mark.parametrize("name", ["vllm:spec_decode_draft_acceptance_rate", "sglang:spec_accept_length"])
def test_a_page_whose_only_number_is_nan_names_its_model_and_says_so(name: str) -> None:
    report = read(sample(name, "NaN"))
    assert report["models"][0]["acceptance_rate"] is None
    assert "bad_value" in codes(report)


def test_vllms_inter_token_latency_is_also_given_per_token() -> None:
    """Made after vllm-project/vllm#47382: 4,000 steps of 25 ms gave 10,000 tokens behind the first ones."""
    page = vllm(4000, 12000, 6000, tokens=10_100)
    for name, total, count in (("inter_token_latency", 100, 4000), ("time_to_first_token", 10, 100)):
        page += sample(f"vllm:{name}_seconds_sum", total, engine="0")
        page += sample(f"vllm:{name}_seconds_count", count, engine="0")
    report = read(page)
    assert report["models"][0]["seconds_per_token"] == pytest.approx(0.010)
    assert report["models"][0]["tokens_per_step"] == pytest.approx(10_100 / 4100)


def test_creation_times_alone_are_no_counts_and_no_silence() -> None:
    report = read(sample("vllm:spec_decode_num_drafts_created", "1.756736798e+09", engine="0"))
    assert (report["engine"], report["models"]) == ("vllm", [])
    assert codes(report) == {"no_spec_series"}
