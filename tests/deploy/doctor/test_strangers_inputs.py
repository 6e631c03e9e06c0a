"""Monitoring that others wrote, after public dashboards, rules and scalers: what is right there has no finding."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from deploy.doctor.doctor_run import DYNAMO, alert, ask, codes, panel
from specwatch_deploy.doctor.engine_source import is_page
from specwatch_deploy.doctor.finding import Place as Where
from specwatch_deploy.doctor.finding import Severity, found
from specwatch_deploy.doctor.gathering import gather
from specwatch_deploy.doctor.input_error import InputError
from specwatch_deploy.doctor.output_sarif import sarif_text
from specwatch_deploy.doctor.run import Wanted, run

NEWEST = ("vllm@0.33.0", "sglang@0.5.23")
# Of a router, of connectors, of disaggregated serving: no page of a plain engine shows them.
RARE = (
    "vllm:healthy_pods_total",
    "vllm:current_qps",
    "vllm:num_incoming_requests_total",
    "vllm:request_latency_seconds_bucket",
    "sglang:evicted_tokens_total",
    "sglang:load_back_tokens_total",
    "sglang:num_transfer_failed_reqs_total",
    "sglang:func_latency_seconds_bucket",
    "sglang:kv_transfer_speed_gb_s_sum",
    "dynamo_frontend_disconnected_clients",
    "dynamo_frontend_cached_tokens_sum",
    "dynamo_work_handler_queue_depth",
    "trtllm_kv_transfer_success_total",
    "trtllm_gpu_memory_usage_bytes",
)
SCALER = """apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: llama}
spec:
  scaleTargetRef: {name: llama}
  minReplicaCount: 1
  triggers:
  - type: prometheus
    metadata:
      serverAddress: http://prometheus:9090
      query: sum(vllm:num_requests_waiting) or vector(0)
      threshold: "5"
"""


@pytest.mark.parametrize("name", RARE)
def test_a_series_that_is_rare_is_not_called_unknown(name: str) -> None:
    assert not [one for one in ask(f"rate({name}[5m])", engines=NEWEST) if one.code.startswith("metric-")]


def test_a_metric_that_became_a_histogram_and_one_that_is_gone() -> None:
    (whole,) = ask("sglang:kv_transfer_speed_gb_s", engines=["sglang@0.5.23"])
    assert whole.code == "histogram-whole"
    assert ask("sglang:kv_transfer_speed_gb_s", engines=["sglang@0.5.2"]) == []
    (gone,) = ask("vllm:time_in_queue_requests", engines=["vllm@0.33.0"])
    assert gone.code != "histogram-whole"


@pytest.mark.parametrize(
    ("text", "page"), [("loglevel: 1\nrules: {}\n", False), ("vllm:x 1\n", True), ("up{} 1\n", True)]
)
def test_values_of_a_chart_are_no_page(text: str, page: bool) -> None:
    assert is_page(text) is page


def test_what_mends_one_fault_keeps_no_name_that_is_gone() -> None:
    told = ask(files=alert("vllm:gpu_cache_usage_perc > 90"), engines=NEWEST)
    (never,) = [one for one in told if one.code == "alert-never-fires"]
    assert never.mended == "vllm:kv_cache_usage_perc > 0.9"


def test_a_query_for_two_versions_keeps_both_names() -> None:
    text = "sum(vllm:gpu_cache_usage_perc or vllm:kv_cache_usage_perc)"
    told = ask(text, engines=["vllm@0.33.0", "vllm@0.9.0"])
    assert all("vllm:gpu_cache_usage_perc" in one.mended for one in told if one.mended)


@pytest.mark.parametrize(
    "query", [f"{'(' * 2000}up{')' * 2000}", " + ".join(["vllm:num_requests_waiting"] * 2000)], ids=["deep", "long"]
)
def test_a_query_of_a_program_is_left_out_and_that_is_said(query: str) -> None:
    told = ask(files=alert(f"{query} > 1"), engines=NEWEST)
    assert {(one.code, one.severity) for one in told} == {("query-unreadable", Severity.INFO)}


def test_a_template_that_was_not_rendered_is_told_as_such() -> None:
    (one,) = ask(files=alert("sum(vllm:num_requests_waiting) > {{ .Values.limit }}"))
    assert "rendered first" in one.message


@pytest.mark.parametrize("text", ["", "just words\n", "# a comment\n"])
def test_a_file_with_nothing_in_it_is_not_clean(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(text)
    with pytest.raises(InputError, match="no rules"):
        gather([str(path)], ["vllm@0.33.0"])


def test_an_empty_pipe_is_not_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    with pytest.raises(InputError, match="standard input is empty"):
        gather(["-"])


def test_json_with_comments_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text('{\n // a comment\n "title": "x"}')
    with pytest.raises(InputError, match="line 2"):
        gather([str(path)])


def test_a_version_that_nobody_read_is_said() -> None:
    for version, word in (("9.9", "newer than 0.33.0"), ("0.6.0", "older than 0.7.3")):
        assert word in run(Wanted(queries=("up",), engines=(f"vllm@{version}",)), print).head


def test_a_range_of_grafana_is_a_sure_divisor() -> None:
    assert ask(files=panel("sum(increase(vllm:request_success_total[$__range])) / ($__range_s / 60)")) == []


def test_or_vector_is_told_once_for_a_scaler() -> None:
    assert codes(ask(files={"s.yaml": SCALER}, engines=NEWEST)) == ["absent-as-zero"]


def test_dynamos_frontend_leads_to_its_workers() -> None:
    page = str(DYNAMO)
    (one,) = ask("sum(rate(vllm:spec_decode_num_drafts_total[5m]))", engines=[page])
    assert "speculation counters live on the workers" in one.message
    assert "DYN_SYSTEM_PORT" in one.evidence
    assert ask("sum(rate(vllm:spec_decode_num_drafts_total[5m]))", engines=[page, "vllm@0.33.0"]) == []
    assert ask("sum(dynamo_frontend_queued_requests)", engines=[page]) == []


@pytest.mark.parametrize(
    "query",
    [
        "rate(sum by (le) (vllm:e2e_request_latency_seconds_bucket)[5m:15s])",
        "increase(sum(vllm:generation_tokens_total)[1h:1m])",
    ],
)
def test_a_rate_of_a_sum_is_found(query: str) -> None:
    assert "rate-of-sum" in codes(ask(query, engines=NEWEST))


@pytest.mark.parametrize(
    "query",
    [
        "max_over_time(sum(vllm:num_requests_waiting)[1h:1m])",
        "avg_over_time(sum(rate(vllm:generation_tokens_total[1m]))[1h:1m])",
        "deriv(sum(vllm:num_requests_waiting)[1h:1m])",
        "histogram_quantile(1, sum by (le) (rate(vllm:e2e_request_latency_seconds_bucket[5m])))",
        "quantile(0.9, vllm:kv_cache_usage_perc)",
    ],
)
def test_a_subquery_or_a_quantile_that_is_right_has_no_finding(query: str) -> None:
    assert ask(query, engines=NEWEST) == []


@pytest.mark.parametrize("query", ["histogram_quantile(-1, rate(x_bucket[5m]))", "quantile_over_time(99, up[1h])"])
def test_a_quantile_over_one_is_found(query: str) -> None:
    assert codes(ask(query)) == ["quantile-beyond-one"]


def test_sarif_names_places_as_addresses() -> None:
    one = found("metric-unknown", Where("standard input", 3), "m")
    (result,) = json.loads(sarif_text([one]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "standard%20input"


def test_an_engine_of_which_no_version_is_told_apart_has_none_in_the_head() -> None:
    head = run(Wanted(queries=('sum(nv_trt_llm_request_metrics{request_type="waiting"})',)), print).head
    assert "Triton's TensorRT-LLM backend (--engine" in head
