from __future__ import annotations

import re

import pytest

from specwatch_exporters.catalog import BY_NAME, CATALOG, Kind, Metric
from specwatch_exporters.notices import CODES

UNITS = ("_seconds", "_tokens", "_ratio", "_bytes", "_info", "_total")
# A count of things needs no unit; neither does a state.
PLAIN = {
    "specwatch_request_in_flight",
    "specwatch_request_pool_in_flight",
    "specwatch_requests_running",
    "specwatch_requests_waiting",
    "specwatch_requests_waiting_by_reason",
    "specwatch_speculation_state",
    "specwatch_tokens_per_step",
    "specwatch_num_speculative_tokens",
    "specwatch_scrape_success",
    "specwatch_scrape_warnings",
    "specwatch_step_batch_requests",
    "specwatch_drift_state",
    "specwatch_latency_drift_state",
    "specwatch_drift_mix_shift",
    "specwatch_drift_calibrated",
    "specwatch_fallback_level",
    "specwatch_fallback_veto",
    "specwatch_fallback_latched",
    "specwatch_fallback_probe_under_way",
    "specwatch_fallback_transition_under_way",
    "specwatch_fallback_acting",
    "specwatch_fallback_leader",
    "specwatch_fallback_switches_left",
    "specwatch_fallback_trouble",
    "specwatch_slack_queue_depth",
    "specwatch_slack_sending",
    "specwatch_slack_trouble",
}


@pytest.mark.parametrize("metric", CATALOG, ids=lambda metric: metric.name)
def test_names_follow_prometheus_conventions(metric: Metric) -> None:
    assert re.fullmatch(r"specwatch_[a-z][a-z0-9_]*", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
    assert metric.name.endswith(UNITS) or metric.name in PLAIN
    assert metric.help.endswith((".", "own."))
    assert len(set(metric.labels)) == len(metric.labels)
    assert "le" not in metric.labels


def test_names_are_unique_and_no_engines() -> None:
    assert len(BY_NAME) == len(CATALOG)
    assert not any(name.startswith(("vllm", "sglang", "trtllm")) for name in BY_NAME)


def test_notice_codes_are_sorted_sentences() -> None:
    assert list(CODES) == sorted(CODES)
    assert all(text.endswith(".") for text in CODES.values())
