"""Faults that well-known projects ship, each rebuilt as a small input of our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import pytest

from deploy.doctor.doctor_run import alert, ask, page, panel

NEW: Final = ("vllm@0.33.0",)
ROUTER: Final = """# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{server="http://10.0.0.1:8000"} 2
vllm:num_requests_waiting{server="http://10.0.0.2:8000"} 3
"""
KEDA: Final = """apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: llama, namespace: llm}
spec:
  scaleTargetRef: {name: llama}
  triggers:
  - type: prometheus
    metadata:
      serverAddress: http://prometheus:9090
      query: vllm:num_requests_waiting{model="llama"}
      threshold: "5"
"""
ADAPTER: Final = """rules:
  custom:
  - seriesQuery: '{__name__=~"^vllm:num_requests_waiting$"}'
    resources:
      overrides: {namespace: {resource: namespace}}
    name: {as: vllm_num_requests_waiting}
    metricsQuery: sum by (namespace) (vllm:num_requests_waiting)
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        project: who ships it.
        what: in short; the test's name.
        files: the input.
        code: that must be found.
        mended: a part of the mended query.
        engines: what runs.
        router: whether a router is watched too.
    """

    project: str
    what: str
    files: dict[str, str]
    code: str
    mended: str = ""
    engines: tuple[str, ...] = field(default=NEW)
    router: bool = False


FAULTS: Final = (
    Fault(
        "production-stack",
        "trigger-by-a-label-of-nobody",
        {"keda.yaml": KEDA},
        "label-unknown",
        'model_name="llama"',
    ),
    Fault("production-stack", "trigger-with-one-series-per-pod", {"keda.yaml": KEDA}, "scaler-several-elements"),
    Fault(
        "production-stack",
        "router-and-engines-in-one-sum",
        {"adapter.yaml": ADAPTER},
        "counted-twice",
        'vllm:num_requests_waiting{server=""}',
        (page("vllm-0.32.0"),),
        router=True,
    ),
    Fault(
        "production-stack",
        "queue-time-that-is-a-queue-length",
        panel("rate(vllm:request_queue_time_seconds_sum[5m])", "Queue Time", "s"),
        "sum-without-count",
        "vllm:request_queue_time_seconds_count",
    ),
    Fault(
        "production-stack",
        "hit-rate-since-the-start",
        panel("vllm:prefix_cache_hits_total / vllm:prefix_cache_queries_total"),
        "counter-without-rate",
        "rate(vllm:prefix_cache_hits_total[5m])",
    ),
    Fault(
        "aibrix",
        "removed-gauge-as-target",
        panel("avg(vllm:gpu_cache_usage_perc)"),
        "metric-renamed",
        "kv_cache_usage_perc",
    ),
    Fault("aibrix", "swapped-requests", panel("sum(vllm:num_requests_swapped)"), "metric-removed"),
    Fault(
        "aibrix", "names-that-never-were", panel("sum(rate(vllm:num_requests_success_total[1m]))"), "metric-unknown"
    ),
    Fault(
        "llm-d",
        "preemptions-without-total",
        panel("sum(rate(vllm:num_preemptions[5m]))"),
        "metric-misspelt",
        "vllm:num_preemptions_total",
    ),
    Fault(
        "ai-observability-summarizer",
        "success-rate-over-nothing",
        alert("rate(vllm:request_success_total[5m]) / (rate(vllm:num_total_requests[5m]) > 0) < 0.9"),
        "metric-unknown",
    ),
    Fault(
        "ai-observability-summarizer",
        "cache-alert-on-a-removed-gauge",
        alert("vllm:gpu_cache_usage_perc > 0.9"),
        "metric-renamed",
        "vllm:kv_cache_usage_perc > 0.9",
    ),
    Fault("ai-observability-summarizer", "alert-that-always-fires", alert("vector(1)"), "alert-always-fires"),
    Fault("keda-inference-scaler", "default-query", panel("max(vllm:gpu_cache_usage_perc)"), "metric-renamed"),
    Fault(
        "neutree",
        "two-formulas-under-one-name",
        panel(
            "sum(rate(vllm:spec_decode_num_accepted_tokens_total[5m]))"
            " / (sum(rate(vllm:spec_decode_num_draft_tokens_total[5m])) > 0) or sglang:spec_accept_rate"
        ),
        "acceptance-mixed",
    ),
    Fault(
        "ray",
        "dashboard-without-the-prefix",
        panel("sum(vllm:generation_tokens_total)"),
        "metric-misspelt",
        "ray_vllm:generation_tokens_total",
        ("RAY",),
    ),
    Fault(
        "vllm", "underscores-for-colons", panel("sum(rate(vllm_generation_tokens_total[5m]))"), "metric-misspelt"
    ),
    Fault(
        "vllm",
        "interval-of-the-screen",
        panel("sum(rate(vllm:generation_tokens_total[$__interval]))"),
        "window-short",
        "$__rate_interval",
    ),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: f"{one.project}-{one.what}")
def test_the_fault_is_found_and_explained(fault: Fault, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("pages")
    ray = folder / "ray.prom"
    ray.write_text(
        '# TYPE ray_vllm:generation_tokens_total counter\nray_vllm:generation_tokens_total{model_name="m"} 3\n'
    )
    router = folder / "router.prom"
    router.write_text(ROUTER)
    engines = [str(ray) if one == "RAY" else one for one in fault.engines] + ([str(router)] if fault.router else [])
    found = [one for one in ask(files=fault.files, engines=engines) if one.code == fault.code]
    assert found
    assert found[0].place.line > 0
    assert fault.mended in found[0].mended


def test_one_scrape_of_router_and_engines_is_no_double_count() -> None:
    assert [one.code for one in ask(files={"adapter.yaml": ADAPTER}, engines=[page("vllm-0.32.0")])] == []
