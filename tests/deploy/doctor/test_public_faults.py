"""Faults that public rules, dashboards and scalers have: what is said of each, and of the same done right."""

from __future__ import annotations

import pytest

from deploy.doctor.doctor_run import alert, ask, codes, panel
from specwatch_deploy.doctor.finding import Finding, Severity
from specwatch_deploy.doctor.input_error import InputError

NEWEST = ("vllm@0.33.0", "sglang@0.5.23")
TTFT = "vllm:time_to_first_token_seconds"
BUCKETS = f"sum by (le) (rate({TTFT}_bucket[5m]))"
WHOLE = {
    f"histogram_quantile(0.99, {TTFT}) > 5": f"histogram_quantile(0.99, {BUCKETS}) > 5",
    f"histogram_quantile(0.99, sum by (le) (rate({TTFT}[5m])))": f"histogram_quantile(0.99, {BUCKETS})",
    f'{TTFT}{{quantile="0.99"}} > 2': f"histogram_quantile(0.99, {BUCKETS}) > 2",
    f'{TTFT}{{model_name="m",quantile="0.5"}}': (
        f'histogram_quantile(0.5, sum by (le) (rate({TTFT}_bucket{{model_name="m"}}[5m])))'
    ),
    f"avg({TTFT})": "",
}
SHARES = {
    "quantile(95, vllm:num_requests_waiting) > 10": "quantile(0.95, vllm:num_requests_waiting) > 10",
    "quantile by (model_name) (99, vllm:num_requests_waiting)": (
        "quantile by (model_name) (0.99, vllm:num_requests_waiting)"
    ),
    "quantile_over_time(90, vllm:kv_cache_usage_perc[9m])": "quantile_over_time(0.9, vllm:kv_cache_usage_perc[9m])",
    f"histogram_quantile(95, {BUCKETS})": f"histogram_quantile(0.95, {BUCKETS})",
}
FOR_GAUGES = {
    "delta(vllm:prompt_tokens_total[5m])": "increase(vllm:prompt_tokens_total[5m])",
    'deriv(vllm:prompt_tokens_total{model_name="m"}[5m])': 'rate(vllm:prompt_tokens_total{model_name="m"}[5m])',
    "avg_over_time(vllm:prompt_tokens_total[5m])": "",
}
ACCEPTED = "sum(rate(vllm:spec_decode_num_accepted_tokens_total[5m]))"
PER_DRAFT = f"{ACCEPTED} / (sum(rate(vllm:spec_decode_num_drafts_total[5m])) > 0)"
PER_TOKEN = f"{ACCEPTED} / (sum(rate(vllm:spec_decode_num_draft_tokens_total[5m])) > 0)"


def one(found: list[Finding], code: str) -> Finding:
    (only,) = [finding for finding in found if finding.code == code]
    return only


@pytest.mark.parametrize("query", WHOLE)
def test_a_histogram_asked_for_as_one_series(query: str) -> None:
    found = ask(query, engines=NEWEST)
    assert codes(found) == ["histogram-whole"]
    assert found[0].mended == WHOLE[query]
    if found[0].mended:
        assert codes(ask(found[0].mended, engines=NEWEST)) == []


@pytest.mark.parametrize("query", SHARES)
def test_a_percentile_for_a_share(query: str) -> None:
    found = ask(query, engines=NEWEST)
    assert one(found, "quantile-beyond-one").mended == SHARES[query]
    assert ask(SHARES[query], engines=NEWEST) == []


@pytest.mark.parametrize(
    "query", ["topk(5, vllm:num_requests_waiting)", "quantile(0.5, vllm:num_requests_waiting)"]
)
def test_a_number_in_front_that_is_right(query: str) -> None:
    assert ask(query, engines=NEWEST) == []


@pytest.mark.parametrize("query", FOR_GAUGES)
def test_a_function_of_gauges_over_a_counter(query: str) -> None:
    found = one(ask(query, engines=NEWEST), "counter-without-rate")
    assert (found.severity, found.mended) == (Severity.WARNING, FOR_GAUGES[query])


@pytest.mark.parametrize(
    "query",
    [
        "delta(vllm:kv_cache_usage_perc[5m])",
        "avg_over_time(rate(vllm:prompt_tokens_total[5m])[1h:1m])",
        "max_over_time(vllm:prompt_tokens_total[1h]) - min_over_time(vllm:prompt_tokens_total[1h])",
    ],
)
def test_functions_of_gauges_where_they_belong(query: str) -> None:
    assert ask(query, engines=NEWEST) == []


def test_an_alert_on_each_reason_fires_for_those_that_never_occur() -> None:
    quiet = "rate(vllm:request_success_total[5m]) == 0"
    found = one(ask(files=alert(quiet), engines=NEWEST), "alert-always-fires")
    assert found.mended == "sum by (model_name) (rate(vllm:request_success_total[5m])) == 0"
    assert "abort" in found.evidence
    for right in (
        found.mended,
        'rate(vllm:request_success_total{finished_reason="stop"}[5m]) == 0',
        "rate(vllm:request_success_total[5m]) > 0.1",
        "rate(vllm:generation_tokens_total[5m]) == 0",
    ):
        assert codes(ask(files=alert(right), engines=NEWEST)) == []


def test_accepted_tokens_per_draft_are_no_rate() -> None:
    found = one(ask(files=panel(PER_DRAFT, "Draft acceptance rate")), "acceptance-wrong-divisor")
    assert found.mended == PER_TOKEN
    for expression, title in (
        (PER_TOKEN, "Draft acceptance rate"),
        (PER_DRAFT, "Accepted tokens per draft"),
        (f"1 + {PER_DRAFT}", "Mean acceptance length"),
        (f"{PER_DRAFT} / 4", "Acceptance rate"),
    ):
        assert "acceptance-wrong-divisor" not in [said.code for said in ask(files=panel(expression, title))]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("foo", "no such engine; known, with a version each (vllm@0.33.0): vllm, sglang, trtllm"),
        ("vlm@0.33.0", "no such engine"),
        ("vllm", "which version?"),
    ],
)
def test_an_engine_that_is_none_is_told_which_there_are(source: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        ask("up", engines=[source])
    assert said in str(raised.value)


@pytest.mark.parametrize("prefix", ["ray_vllm:", "ray_vllm_", "vllm:"])
def test_a_new_name_keeps_the_prefix_of_ray(prefix: str) -> None:
    (gone,) = ask(f"{prefix}gpu_cache_usage_perc", engines=NEWEST)
    assert (gone.code, gone.mended) == ("metric-renamed", f"{prefix}kv_cache_usage_perc")


def test_dynamos_frontend_has_another_label_for_the_model() -> None:
    (said,) = ask('rate(dynamo_frontend_requests_total{model_name="m"}[5m])')
    assert (said.code, said.mended) == ("label-unknown", 'rate(dynamo_frontend_requests_total{model="m"}[5m])')
    assert ask('sum by (model) (rate(dynamo_frontend_requests_total{status="error"}[5m]))') == []
    assert ask("sum by (dynamo_namespace) (dynamo_frontend_inflight_requests)") == []


def test_an_acceptance_of_zero_is_speculation_that_is_off() -> None:
    bare = 'sglang:spec_accept_length{model_name="m"} < 1.5'
    found = one(ask(files=alert(bare), engines=NEWEST), "zero-means-none")
    assert found.mended == '(sglang:spec_accept_length{model_name="m"} > 0) < 1.5'
    for right in (
        found.mended,
        "avg(sglang:spec_accept_rate > 0) < 0.3",
        "sglang:spec_accept_rate < 0.3 and sglang:spec_accept_rate > 0",
        "sglang:spec_accept_length > 3",
    ):
        assert codes(ask(files=alert(right), engines=NEWEST)) == []
    assert codes(ask(files=panel("avg(sglang:spec_accept_length)"), engines=NEWEST)) == []


@pytest.mark.parametrize("label", ["status", "finish_reason", "reason"])
def test_the_reason_of_an_end_by_another_name(label: str) -> None:
    (said,) = ask(f'rate(vllm:request_success_total{{{label}="error"}}[5m])', engines=NEWEST)
    assert (said.code, said.mended) == (
        "label-unknown",
        'rate(vllm:request_success_total{finished_reason="error"}[5m])',
    )


def test_a_waiting_time_inside_an_expression() -> None:
    (said,) = ask(files=alert("vllm:num_requests_waiting > 10 for 5m"))
    assert (said.code, said.mended) == ("query-unreadable", "vllm:num_requests_waiting > 10")
    assert "line of its own" in said.message
