"""Put the plugin together for one engine of vLLM, in a way that cannot stop its start."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from prometheus_client import REGISTRY, CollectorRegistry

from specwatch_exporters import request_catalog
from specwatch_exporters.request_labels import BATCH_EDGES
from specwatch_exporters.vllm_plugin.batch_tally import Edges
from specwatch_exporters.vllm_plugin.engine_facts import EngineFacts, read_facts
from specwatch_exporters.vllm_plugin.failures import Failures
from specwatch_exporters.vllm_plugin.families import families_in
from specwatch_exporters.vllm_plugin.flush_timer import FlushTimer
from specwatch_exporters.vllm_plugin.publisher import Publisher
from specwatch_exporters.vllm_plugin.recorder import StepRecorder

# A child of vLLM's own logger, so that its handlers and its level print what the plugin says.
LOG: Final = logging.getLogger("vllm.specwatch")

EDGES: Final = Edges(
    queue_wait=request_catalog.QUEUE_WAIT.buckets,
    ttft=request_catalog.TTFT.buckets,
    gap=request_catalog.INTER_CHUNK.buckets,
    token=request_catalog.INTER_TOKEN.buckets,
    e2e=request_catalog.E2E.buckets,
)


class PluginRecorder:
    """Keeps steps as they come, and counts and publishes them together a little later; neither method raises.

    vLLM records a step before its tokens go out, and between two steps an engine's own work takes the processor's
    caches: a function that runs once a step costs several times what it costs in a loop. So a step is only put
    aside here. vLLM makes new statistics objects for every step and does not change them afterwards.

    Args:
        facts: the engine's names.
        engines: data-parallel indexes that this process serves.
        registry: where the families are.
        failures: takes what goes wrong.
    """

    def __init__(
        self, facts: EngineFacts, engines: Sequence[int], registry: CollectorRegistry, failures: Failures
    ) -> None:
        self._failures = failures
        self._steps = StepRecorder(EDGES, BATCH_EDGES, failures, drafting=facts.drafting)
        self._publisher = Publisher(families_in(registry), facts, failures, tuple(engines))
        self._timer = FlushTimer(self._publish)
        self._recorded: list[tuple[Any, Any, int]] = []

    def record(self, scheduler_stats: Any, iteration_stats: Any, engine: int) -> None:
        """Take one step of one engine."""
        self._recorded.append((scheduler_stats, iteration_stats, engine))
        try:
            self._timer.touch()
        except Exception as error:  # noqa: BLE001 - nothing of ours may reach the engine
            self._failures.note("timer", error)

    def flush(self) -> None:
        """Count and publish what was taken."""
        try:
            self._timer.fire()
        except Exception as error:  # noqa: BLE001 - likewise
            self._failures.note("timer", error)

    def _publish(self) -> None:
        recorded, self._recorded = self._recorded, []
        try:
            for step in recorded:
                self._steps.record(*step)
            self._publisher.publish(self._steps.take())
        except Exception as error:  # noqa: BLE001 - likewise; the event loop calls this
            self._failures.note("publish", error)


def start_recorder(
    vllm_config: Any,
    engines: Sequence[int],
    vllm_version: str,
    registry: CollectorRegistry = REGISTRY,
    log: logging.Logger = LOG,
) -> PluginRecorder | None:
    """Make the recorder and say so in the log; None, and a log line, when that fails for any reason.

    Args:
        vllm_config: vLLM's configuration.
        engines: data-parallel indexes that this process serves.
        vllm_version: for the log.
        registry: where the metrics go; vLLM's page shows the default one, or all processes' through its files.
        log: where the plugin says what it does.
    """
    try:
        facts = read_facts(vllm_config)
        recorder = PluginRecorder(facts, engines, registry, Failures(log))
        families_in(registry).declare(facts, _own_version())
    except Exception:  # a monitoring plugin must not stop an engine
        log.exception("specwatch plugin: it could not start and is off; the engine is not affected")
        return None
    message = "specwatch plugin %s: on for model %s, speculation %s, engines %s, vLLM %s"
    log.info(message, _own_version(), facts.model, facts.method, list(engines), vllm_version)
    return recorder


def _own_version() -> str:
    try:
        return version("specwatch")
    except PackageNotFoundError:
        return "unknown"
