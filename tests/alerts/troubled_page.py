"""A metrics page with every series that specwatch and others export, of a fleet where everything goes wrong.

Made from the catalogue and from what is known of the engines' own series, so that a query with a wrong name, label
or join finds nothing or fails.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

from alerts.loopback_site import serving
from specwatch_alerts.metric_facts import known_metrics
from specwatch_exporters.catalog import CATALOG
from specwatch_exporters.metric import Kind, Metric, Source

PLACES = ({"namespace": "serving", "pod": "llama-0"}, {"namespace": "serving", "pod": "llama-1"})
LABELS: dict[str, Sequence[str]] = {
    "model": ("llama", "silent"),
    "traffic_class": ("", "code"),
    "position": ("0", "1"),
    "batch": ("1", "8"),
    "bound": ("lower", "estimate", "upper"),
    "level": ("draft", "ngram"),
    "pool": ("draft", "ngram"),
    "reason": ("not_paying", "pays_again"),
    "veto": ("lever", "foreign"),
    "model_name": ("llama", "silent"),
    "engine": ("0",),
    "dp_rank": ("0", "1"),
    "finished_reason": ("stop", "error", "abort"),
}
OF_METRIC: dict[tuple[str, str], Sequence[str]] = {
    ("specwatch_speculation_state", "state"): ("active", "off", "stale"),
    ("specwatch_drift_state", "state"): ("ok", "drifted"),
    ("specwatch_latency_drift_state", "state"): ("ok", "drifted"),
    ("specwatch_latency_drift_state", "signal"): ("inter_token", "queue_wait"),
    ("specwatch_requests_total", "outcome"): ("stop", "error"),
    ("specwatch_request_finished_total", "outcome"): ("success", "error", "cut", "rejected"),
    ("specwatch_scrapes_total", "outcome"): ("success", "refused"),
    ("specwatch_scrape_warnings", "code"): ("not_drafting", "no_spec_series"),
}
VALUES = {
    "specwatch_request_oldest_waiting_seconds": 60.0,
    "specwatch_kv_cache_usage_ratio": 0.97,
    "specwatch_scrape_success": 0.0,
}
NOT_OF_SILENT = (
    "specwatch_drafts_total",
    "specwatch_draft_tokens_total",
    "vllm:spec_decode_num_drafts_total",
    "sglang:spec_verify_calls_total",
)
BEGINS_AGAIN = ("vllm:prompt_tokens_total", "sglang:prompt_tokens_total")
"""Counters of an engine that restarts at every fourth look."""
GONE = (
    "specwatch_requests_running",
    "vllm:num_requests_running",
    "sglang:num_running_reqs",
    "specwatch:scale_demand:replicas",
)
LOOKS_OF_GONE = 4
_HPA = 'namespace="serving",horizontalpodautoscaler="llama"'
FOREIGN = {
    f"kube_horizontalpodautoscaler_status_desired_replicas{{{_HPA}}}": 8.0,
    f"kube_horizontalpodautoscaler_spec_max_replicas{{{_HPA}}}": 8.0,
    f'kube_horizontalpodautoscaler_status_condition{{{_HPA},condition="ScalingActive",status="false"}}': 1.0,
    'kube_deployment_spec_replicas{namespace="serving",deployment="llama"}': 2.0,
    'specwatch:scale_freed_by_cutting:replicas{namespace="serving",model="llama"}': 1.3,
    'specwatch:scale_demand:replicas{namespace="serving",model="llama"}': 4.2,
    'specwatch:scale_pods:count{namespace="serving",model="llama"}': 3.0,
    'aggregator_unavailable_apiservice{name="v1beta1.external.metrics.k8s.io"}': 1.0,
    'keda_scaler_metrics_value{namespace="serving",scaledObject="llama",metric="s0-demand"}': 3.0,
    'DCGM_FI_DEV_GPU_UTIL{Hostname="gpu-node-7",gpu="0",pod="dcgm-exporter-abcde"}': 90.0,
    'DCGM_FI_DEV_GPU_UTIL{Hostname="gpu-node-8",gpu="0",exported_pod="llama-0",exported_namespace="serving"}': 90.0,
}
FOREIGN_COUNTERS = (
    'kube_pod_container_status_restarts_total{namespace="serving",pod="llama-0",container="engine"}',
    'keda_scaler_detail_errors_total{namespace="serving",scaledObject="llama",scaler="prometheus"}',
    'keda_scaler_empty_upstream_responses_total{namespace="serving",scaledResource="llama",metricName="s0"}',
)


class TroubledPage:
    """Counters grow at every look."""

    def __init__(self) -> None:
        self._looks = 0
        self._lock = threading.Lock()

    def text(self) -> str:
        with self._lock:
            self._looks += 1
            looks = self._looks
        metrics = [*CATALOG, *_engine_metrics()]
        lines = [line for metric in metrics for place in PLACES for line in _lines(metric, place, looks)]
        if looks <= LOOKS_OF_GONE:  # "model" or "model_name", as the metric has it
            lines += [f'{name}{{namespace="serving",model="gone",model_name="gone"}} 1' for name in GONE]
        lines += [f"{series} {value}" for series, value in FOREIGN.items()]
        lines += [f"{series} {looks}" for series in FOREIGN_COUNTERS]
        return "\n".join([*lines, ""])


def _engine_metrics() -> list[Metric]:
    """The engines' own series, as far as rules and dashboards read them."""
    found = known_metrics().items()
    return [
        Metric(name, facts.kind, tuple(sorted(facts.labels)), "an engine's", Source.SCRAPE)
        for name, facts in found
        if facts.source in {"vllm", "sglang"}
    ]


def _lines(metric: Metric, place: Mapping[str, str], looks: int) -> Iterator[str]:
    choices = [OF_METRIC.get((metric.name, label)) or LABELS.get(label, ("x",)) for label in metric.labels]
    for values in itertools.product(*choices):
        labels = {**place, **dict(zip(metric.labels, values, strict=True))}
        if "silent" in {labels.get("model"), labels.get("model_name")} and metric.name in NOT_OF_SILENT:
            continue
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        if metric.kind is Kind.COUNTER:
            count = looks % 4 if metric.name in BEGINS_AGAIN else looks
            yield f"{metric.name}{{{text}}} {3 * count}"
        elif metric.kind is Kind.GAUGE:
            yield f"{metric.name}{{{text}}} {VALUES.get(metric.name, 1.0)}"
        else:
            for edge, share in (("0.1", 1), ("1.0", 2), ("+Inf", 3)):
                yield f'{metric.name}_bucket{{{text},le="{edge}"}} {share * looks}'
            yield f"{metric.name}_sum{{{text}}} {2.0 * looks}"
            yield f"{metric.name}_count{{{text}}} {3 * looks}"


@contextmanager
def served_text(page: TroubledPage) -> Iterator[str]:
    """Serve the page; gives host:port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):  # Prometheus ends in the middle of a scrape
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(Handler) as address:
        yield address
