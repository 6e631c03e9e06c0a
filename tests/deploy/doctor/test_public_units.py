"""Figures that are shown or compared in another unit than theirs, after public dashboards and rules."""

from __future__ import annotations

import pytest

from deploy.doctor.doctor_run import alert, ask, codes, panel

NEWEST = ("vllm@0.33.0", "sglang@0.5.23")
TTFT = "vllm:time_to_first_token_seconds"
QUANTILE = f"histogram_quantile(0.95, sum by (le) (rate({TTFT}_bucket[5m])))"
MEAN = f"sum(rate({TTFT}_sum[5m])) / (sum(rate({TTFT}_count[5m])) > 0)"
ACCEPTED = "sum(rate(vllm:spec_decode_num_accepted_tokens_total[5m]))"
PER_DRAFT = f"{ACCEPTED} / (sum(rate(vllm:spec_decode_num_drafts_total[5m])) > 0)"


@pytest.mark.parametrize(
    ("expression", "unit", "wrong"),
    [
        ("avg(vllm:kv_cache_usage_perc)", "percent", True),
        ("avg(vllm:kv_cache_usage_perc)", "percentunit", False),
        ("100 * avg(vllm:kv_cache_usage_perc)", "percent", False),
        ("avg(vllm:kv_cache_usage_perc) * 100", "percent", False),
        (QUANTILE, "ms", True),
        (MEAN, "ms", True),
        (QUANTILE, "s", False),
        (f"{QUANTILE} * 1000", "ms", False),
        (f"1000 * ({MEAN})", "ms", False),
        ("sum(vllm:num_requests_running)", "percent", False),
    ],
)
def test_the_unit_of_a_panel_is_that_of_its_value(expression: str, unit: str, wrong: bool) -> None:
    assert ("unit-wrong" in codes(ask(files=panel(expression, unit=unit), engines=NEWEST))) is wrong


@pytest.mark.parametrize(
    ("expression", "mended"),
    [
        (f"{QUANTILE} > 2000", f"{QUANTILE} > 2"),
        (f"{MEAN} > 1500", f"{MEAN} > 1.5"),
        (f"{QUANTILE} > 30", None),
        (f"{QUANTILE} * 1000 > 2000", None),
        ("sum(vllm:num_requests_waiting) > 2000", None),
        ("histogram_quantile(0.9, sum by (le) (rate(vllm:e2e_request_latency_seconds_bucket[5m]))) > 900", None),
    ],
)
def test_a_threshold_in_milliseconds_over_seconds(expression: str, mended: str | None) -> None:
    said = [one.mended for one in ask(files=alert(expression), engines=NEWEST) if one.code == "alert-out-of-reach"]
    assert said == ([] if mended is None else [mended])


def test_a_length_without_the_bonus_token() -> None:
    (said,) = ask(files=panel(PER_DRAFT, "Mean acceptance length"), engines=NEWEST)
    assert (said.code, said.mended) == ("acceptance-wrong-divisor", f"1 + {PER_DRAFT}")
    assert codes(ask(files=panel(said.mended, "Mean acceptance length"), engines=NEWEST)) == []
    assert codes(ask(files=panel(PER_DRAFT, "Accepted tokens per draft"), engines=NEWEST)) == []


def test_means_of_engines_are_not_added_up() -> None:
    (said,) = ask("sum(sglang:spec_accept_length)", engines=NEWEST)
    assert (said.code, said.mended) == ("ratio-summed", "max(sglang:spec_accept_length)")
    assert ask("avg(sglang:spec_accept_length)", engines=NEWEST) == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("job:acceptance:ratio < 30", "alert-always-fires"),
        ("job:acceptance:ratio > 30", "alert-never-fires"),
        ("job:acceptance:ratio < 0.3", None),
        ("avg(job:nested:ratio) > 2", "alert-never-fires"),
        ("job:itself:value > 2", None),
    ],
)
def test_what_is_recorded_has_the_range_of_what_it_is_made_of(rule: str, code: str | None) -> None:
    ratio = f"{ACCEPTED} / (sum(rate(vllm:spec_decode_num_draft_tokens_total[5m])) > 0)"
    records = {
        "job:acceptance:ratio": ratio,
        "job:nested:ratio": "job:acceptance:ratio",
        "job:itself:value": "job:itself:value + 1",
    }
    text = "groups:\n- name: g\n  rules:\n" + "".join(
        f"  - record: {name}\n    expr: {expression}\n" for name, expression in records.items()
    )
    found = ask(files={"rules.yml": f"{text}  - alert: A\n    expr: {rule}\n    for: 5m\n"}, engines=NEWEST)
    assert [one.code for one in found if one.code.startswith("alert-")] == ([] if code is None else [code])
