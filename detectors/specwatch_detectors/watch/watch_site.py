"""What the fleet watch serves."""

from __future__ import annotations

from http import HTTPStatus

from prometheus_client import CollectorRegistry

from specwatch_detectors.watch.readings_json import readings_json
from specwatch_detectors.watch.watcher import Watcher
from specwatch_exporters.sidecar.site import Answer, MetricsSite


def watch_site(watcher: Watcher) -> MetricsSite:
    """`/metrics`, `/healthz`, `/readyz`, and the verdicts as JSON."""
    registry = CollectorRegistry()
    registry.register(watcher)

    def status(_query: str, _accept: str) -> Answer:
        return Answer(HTTPStatus.OK, "application/json", readings_json(watcher.readings()).encode() + b"\n")

    return MetricsSite(registry, watcher.ready, {"/status.json": ("verdicts on all models as JSON", status)})
