"""Sides of an operation that never match, and ratios of a series with itself, after public rules and panels."""

from __future__ import annotations

import pytest

from deploy.doctor.doctor_run import ask, page

NEWEST = ("vllm@0.33.0", "sglang@0.5.23")
ERRORS = 'rate(vllm:request_success_total{finished_reason="error"}[5m])'
WAITING = "vllm:num_requests_waiting"
ALL = "rate(vllm:request_success_total[5m])"
POSITIONS = "rate(vllm:spec_decode_num_accepted_tokens_per_pos_total[5m])"
DRAFTS = "rate(vllm:spec_decode_num_drafts_total[5m])"
TTFT = "histogram_quantile(0.95, sum by (le, model_name) (rate(vllm:time_to_first_token_seconds_bucket[5m])))"

APART = {
    f"rate(vllm:e2e_request_latency_seconds_sum[5m]) / {ALL}": (
        f"sum by (model_name) (rate(vllm:e2e_request_latency_seconds_sum[5m])) / sum by (model_name) ({ALL})"
    ),
    f"{POSITIONS} / {DRAFTS}": f"{POSITIONS} / ignoring (position) group_left {DRAFTS}",
    f"sum by (position) ({POSITIONS}) / sum({DRAFTS})": (
        f"sum by (position) ({POSITIONS}) / on () group_left sum({DRAFTS})"
    ),
    f"vllm:num_requests_waiting > 5 and sum({DRAFTS}) == 0": (
        f"vllm:num_requests_waiting > 5 and on () sum({DRAFTS}) == 0"
    ),
    f"{TTFT} > 2 and sum({ALL}) > 0": f"{TTFT} > 2 and on () sum({ALL}) > 0",
    "vllm:kv_cache_usage_perc > 0.9 unless sum(vllm:num_requests_waiting) > 0": (
        "vllm:kv_cache_usage_perc > 0.9 unless on () sum(vllm:num_requests_waiting) > 0"
    ),
    f"sum without (pid) ({WAITING}) + sum without (pid, instance) ({WAITING})": (
        f"sum without (pid) ({WAITING}) + ignoring (instance) group_left sum without (pid, instance) ({WAITING})"
    ),
    "sum by (model_name) (vllm:num_requests_waiting) / sum by (pod) (vllm:num_requests_running)": "",
}
MATCHING = (
    f"sum({ERRORS}) / (sum({ALL}) > 0)",
    f"vllm:num_requests_waiting > 5 and on (pod) {DRAFTS} == 0",
    f"vllm:num_requests_waiting > 5 and on () sum({DRAFTS}) == 0",
    "vllm:num_requests_waiting > 5 and rate(vllm:generation_tokens_total[5m]) == 0",
    f"{POSITIONS} / ignoring (position) group_left ({DRAFTS} > 0)",
    f"sum by (position) ({POSITIONS}) / scalar(sum({DRAFTS}) > 0)",
    "vllm:num_requests_waiting / on () group_left count(up)",
    "sum(vllm:num_requests_waiting) / count(up)",
    f"{TTFT} > 2 and sum by (model_name) ({ALL}) > 0",
    "sum by (model_name, namespace) (vllm:num_requests_waiting) > sum by (model_name) (vllm:num_requests_running)",
    "sglang:num_queue_reqs + sglang:num_running_reqs",
    'up{job="vllm"} == 0 and vllm:num_requests_waiting',
    'label_replace(rate(vllm:generation_tokens_total[5m]), "x", "$1", "pod", "(.*)") / vllm:num_requests_running',
    "sum by ($group) (vllm:num_requests_waiting) + sum(vllm:num_requests_running)",
    "sum(vllm:num_requests_waiting) > 2 * count(vllm:num_requests_running)",
    "rate(vllm:e2e_request_latency_seconds_sum[5m]) / rate(vllm:e2e_request_latency_seconds_count[5m])",
)


def told(query: str, engines: tuple[str, ...] = NEWEST) -> list[tuple[str, str]]:
    both = {"sides-never-match", "ratio-with-itself"}
    return [(one.code, one.mended) for one in ask(query, engines=engines) if one.code in both]


@pytest.mark.parametrize("query", APART)
def test_sides_that_never_match(query: str) -> None:
    assert told(query) == [("sides-never-match", APART[query])]


@pytest.mark.parametrize("query", [mended for mended in APART.values() if mended] + list(MATCHING))
def test_sides_that_match(query: str) -> None:
    assert told(query) == []


def test_a_share_of_a_label_that_both_sides_keep_is_one() -> None:
    ((code, mended),) = told(f"{ERRORS} / {ALL} > 0.05")
    assert code == "ratio-with-itself"
    assert mended == f"sum by (model_name) ({ERRORS}) / sum by (model_name) ({ALL}) > 0.05"
    assert told(mended) == []
    (kept,) = told(f"sum by (finished_reason) ({ERRORS}) / (sum by (finished_reason) ({ALL}) > 0)")
    assert kept == ("ratio-with-itself", "")


def test_a_label_that_not_every_engine_has_decides_nothing() -> None:
    query = "sum by (dp_rank, model_name) (sglang:num_queue_reqs) / sum by (model_name) (sglang:num_running_reqs)"
    assert told(query, (page("sglang-0.5.17"),)) == []


def test_a_name_that_is_gone_is_said_and_not_its_labels() -> None:
    assert told("vllm:gpu_cache_usage_perc and sum(vllm:num_requests_waiting)") == []


def test_a_series_over_itself_whatever_it_is() -> None:
    for query in (
        'rate(http_requests_total{code=~"5.."}[5m]) / rate(http_requests_total[5m])',
        'vllm:num_requests_running{engine="0"} / vllm:num_requests_running',
        'sum by (code) (rate(x_total{code="500"}[5m])) / (sum by (code) (rate(x_total[5m])) > 0)',
    ):
        assert [code for code, _ in told(query)] == ["ratio-with-itself"]
    for right in (
        'sum(rate(http_requests_total{code="500"}[5m])) / sum(rate(http_requests_total[5m]))',
        'sum by (job) (rate(x_total{code="500"}[5m])) / sum by (job) (rate(x_total[5m]))',
        'rate(x_total{pod="a"}[5m]) / rate(x_total[5m] offset 1d)',
        'rate(x_total{code="500"}[5m]) / ignoring (code) group_left sum without (code) (rate(x_total[5m]))',
    ):
        assert told(right) == []


def test_two_values_of_a_label_that_both_sides_keep() -> None:
    """Prefill against decode, one model against another."""
    query = 'vllm:num_requests_waiting{role="prefill"} / vllm:num_requests_waiting{role="decode"}'
    assert told(query) == [("sides-never-match", "")]  # other pods as well: nothing short of a sum mends it
    query = 'sum by (role) (x{role="prefill"}) / sum by (role) (x{role="decode"})'
    ((_, mended),) = told(query)
    assert mended == query.replace(" / ", " / ignoring (role) ")
    for right in (
        mended,
        'sum(vllm:num_requests_waiting{role="prefill"}) / sum(vllm:num_requests_waiting{role="decode"})',
        'vllm:num_requests_waiting{role="$a"} / vllm:num_requests_waiting{role="$b"}',
        'vllm:num_requests_waiting{role="a"} or vllm:num_requests_waiting{role="b"}',
    ):
        assert told(right) == []
