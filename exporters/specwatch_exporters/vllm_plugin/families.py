"""The plugin's metric families, made once per registry and process."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from prometheus_client import CollectorRegistry, Counter, Gauge

from specwatch_exporters import catalog, step_catalog
from specwatch_exporters.metric import Metric
from specwatch_exporters.request_histogram import WeightedHistogram
from specwatch_exporters.request_metrics import RequestMetrics
from specwatch_exporters.vllm_plugin.engine_facts import EngineFacts

DEFINITION: Final = "vllm-v1-plugin"


class PluginFamilies:
    """Everything that the plugin exports.

    vLLM lets its API servers share one page through prometheus_client's multiprocess mode: counters and histograms
    then add up, and gauges say themselves how (`mostrecent`: all processes say the same).

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = RequestMetrics(registry)
        self.drafts = _counter(catalog.DRAFTS, registry)
        self.draft_tokens = _counter(catalog.DRAFT_TOKENS, registry)
        self.accepted_tokens = _counter(catalog.ACCEPTED_TOKENS, registry)
        self.accepted_per_position = _counter(catalog.ACCEPTED_PER_POSITION, registry)
        self.drafted_per_position = _counter(catalog.DRAFTED_PER_POSITION, registry)
        self.errors = _counter(step_catalog.PLUGIN_ERRORS, registry)
        self.speculation_info = _gauge(catalog.SPECULATION_INFO, registry)
        self.speculative_tokens = _gauge(catalog.NUM_SPECULATIVE_TOKENS, registry)
        self.adapts = _gauge(catalog.ADAPTS, registry)
        self.build_info = _gauge(catalog.BUILD_INFO, registry)
        batch = step_catalog.STEP_BATCH
        self.step_batch = WeightedHistogram(
            batch.name, batch.help, batch.labels, buckets=batch.buckets, registry=registry
        )

    def declare(self, facts: EngineFacts, version: str) -> None:
        """Set what is constant: method, number of speculative tokens, what adapts, version of specwatch."""
        self.speculation_info.labels(facts.model, facts.method, DEFINITION).set(1)
        if facts.speculative_tokens is not None:
            self.speculative_tokens.labels(facts.model).set(facts.speculative_tokens)
        for what in facts.adapts:
            self.adapts.labels(facts.model, what).set(1)
        self.build_info.labels(version).set(1)


_FAMILIES: Final[WeakKeyDictionary[CollectorRegistry, PluginFamilies]] = WeakKeyDictionary()


def families_in(registry: CollectorRegistry) -> PluginFamilies:
    """The registry's families; a second engine in the same process (a restart) goes on with the first one's.

    vLLM removes its own families when it makes a logger again, and only those whose name starts with `vllm:`.
    """
    found = _FAMILIES.get(registry)
    if found is None:
        found = _FAMILIES[registry] = PluginFamilies(registry)
    return found


def _counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.family, metric.help, metric.labels, registry=registry)


def _gauge(metric: Metric, registry: CollectorRegistry) -> Gauge:
    return Gauge(metric.name, metric.help, metric.labels, registry=registry, multiprocess_mode="mostrecent")
