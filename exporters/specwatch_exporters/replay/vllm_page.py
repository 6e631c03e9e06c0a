"""The metrics page: step results in, vLLM's families out, rendered by the library that vLLM uses."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector

from specwatch_exporters.replay.cache_config import cache_config_labels
from specwatch_exporters.replay.http_metrics import HttpMetrics
from specwatch_exporters.replay.page_families import (
    FAMILIES,
    HISTOGRAMS,
    SPECULATIVE_FAMILIES,
    Family,
    HistogramFamily,
    one_two_five,
)
from specwatch_exporters.replay.process_metrics import RestartableProcess
from specwatch_exporters.replay.sequence import FinishReason
from specwatch_exporters.replay.settings import ReplaySettings
from specwatch_exporters.replay.step_result import Finished, Load, StepResult

PREFIX = "vllm:"


class VllmPage:
    """All series of one engine since its start.

    Speculative series exist only when speculation is configured, then all of them from the start.

    Args:
        settings: fixes model name, positions and buckets for the life of the page.
        started: start of the process, seconds since the epoch.
    """

    def __init__(self, settings: ReplaySettings, started: float) -> None:
        self._registry = CollectorRegistry()
        self._labels = {"model_name": settings.model_name, "engine": "0"}
        self._counters: dict[tuple[str, str], Counter] = {}
        self._gauges: dict[tuple[str, str], Gauge] = {}
        self._histograms: dict[str, Histogram] = {}
        self._depth = settings.depth
        GCCollector(self._registry)
        PlatformCollector(self._registry)
        self._registry.register(RestartableProcess(started))
        self._add_speculative()
        for family in FAMILIES:
            self._add(family)
        for histogram in HISTOGRAMS:
            self._add_histogram(histogram, settings.max_model_len)
        self._add_cache_config(settings)
        self._gauges["engine_sleep_state", "awake"].set(1)
        self.http = HttpMetrics(self._registry)

    def render(self) -> bytes:
        """The page in the text format."""
        return generate_latest(self._registry)

    def record(self, result: StepResult) -> None:
        """Count one step, in the way of vLLM's Prometheus logger (0.32)."""
        self.show(result.load)
        self._count("prefix_cache_queries", result.prefix_queries)
        self._count("num_preemptions", result.preempted)
        self._count("prompt_tokens", result.prompt_tokens)
        self._count("prompt_tokens_by_source", result.prompt_tokens, "local_compute")
        self._count("generation_tokens", result.generation_tokens)
        self._observe("iteration_tokens_total", result.prompt_tokens + result.generation_tokens)
        for seconds in result.first_token_latencies:
            self._observe("time_to_first_token_seconds", seconds)
        for seconds in result.inter_token_latencies:
            self._observe("inter_token_latency_seconds", seconds)
        for drafted, kept in result.drafts:
            self._count_draft(drafted, kept)
        for finished in result.finished:
            self._observe_finished(finished)

    def show(self, load: Load) -> None:
        """Set the gauges."""
        self._gauges["num_requests_running", ""].set(load.running)
        self._gauges["num_requests_waiting", ""].set(load.waiting)
        self._gauges["num_requests_waiting_by_reason", "capacity"].set(load.waiting)
        self._gauges["kv_cache_usage_perc", ""].set(load.kv_usage)

    def count_abort(self) -> None:
        """Count a request whose client went away (not what vLLM 0.32 does, see `count_aborts`)."""
        self._count("request_success", 1, FinishReason.ABORT.value)

    def _count_draft(self, drafted: int, kept: int) -> None:
        self._count("spec_decode_num_drafts", 1)
        self._count("spec_decode_num_draft_tokens", drafted)
        self._count("spec_decode_num_accepted_tokens", kept)
        for position in range(kept):
            self._count("spec_decode_num_accepted_tokens_per_pos", 1, str(position))

    def _observe_finished(self, finished: Finished) -> None:
        self._count("request_success", 1, finished.reason.value)
        for name, value in (
            ("e2e_request_latency_seconds", finished.e2e),
            ("request_queue_time_seconds", finished.queue),
            ("request_prefill_time_seconds", finished.prefill),
            ("request_inference_time_seconds", finished.inference),
            ("request_decode_time_seconds", finished.decode),
            ("request_num_preemptions", finished.preemptions),
            ("request_prefill_kv_computed_tokens", finished.prompt_tokens),
            ("request_prompt_tokens", finished.prompt_tokens),
            ("request_generation_tokens", finished.generation_tokens),
            ("request_max_num_generation_tokens", finished.generation_tokens),
            ("request_time_per_output_token_seconds", finished.per_output_token),
            ("request_params_max_tokens", finished.max_tokens),
            ("request_params_n", 1),
        ):
            self._observe(name, value)

    def _count(self, name: str, amount: float, value: str = "") -> None:
        if amount:
            self._counters[name, value].inc(amount)

    def _observe(self, name: str, value: float) -> None:
        self._histograms[name].observe(value)

    def _add_speculative(self) -> None:
        if self._depth == 0:
            return
        for family in SPECULATIVE_FAMILIES:
            self._add(family)
        positions = tuple(str(position) for position in range(self._depth))
        name = "spec_decode_num_accepted_tokens_per_pos"
        self._add(Family(name, "counter", "Draft tokens kept, by position.", "position", positions))

    def _add(self, family: Family) -> None:
        labels = dict(self._labels) if family.engine else {"model_name": self._labels["model_name"]}
        names = (*labels, family.label) if family.label else tuple(labels)
        values = family.values if family.label else ("",)
        if family.kind == "counter":
            counter = Counter(PREFIX + family.name, family.text, names, registry=self._registry)
            for value in values:
                self._counters[family.name, value] = counter.labels(*labels.values(), *filter(None, [value]))
        else:
            gauge = Gauge(PREFIX + family.name, family.text, names, registry=self._registry)
            for value in values:
                self._gauges[family.name, value] = gauge.labels(*labels.values(), *filter(None, [value]))

    def _add_histogram(self, family: HistogramFamily, max_model_len: int) -> None:
        buckets = one_two_five(max_model_len) if family.buckets is None else family.buckets
        histogram = Histogram(
            PREFIX + family.name, family.text, tuple(self._labels), buckets=buckets, registry=self._registry
        )
        self._histograms[family.name] = histogram.labels(*self._labels.values())

    def _add_cache_config(self, settings: ReplaySettings) -> None:
        labels = cache_config_labels(settings)
        gauge = Gauge(PREFIX + "cache_config_info", "Cache configuration.", tuple(labels), registry=self._registry)
        gauge.labels(*labels.values()).set(1)
