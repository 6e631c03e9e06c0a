"""Pods that two monitors scrape on one port: everything that is summed over them counts twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from specwatch_deploy.doctor.document import Document
from specwatch_deploy.doctor.finding import Finding, Place, found
from specwatch_deploy.doctor.inputs import Inputs

_WORKLOADS: Final = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
_PATH: Final = "/metrics"


@dataclass(frozen=True, slots=True)
class _Scrape:
    """One way in which a pod is scraped."""

    by: str
    place: Place
    port: int
    path: str


def scraped_twice(inputs: Inputs) -> Iterator[Finding]:
    """Workloads of which two monitors, or a monitor and an annotation, scrape the same port and path."""
    services = list(inputs.of_kind("Service"))
    monitors = list(inputs.of_kind("PodMonitor", "ServiceMonitor"))
    for workload in inputs.of_kind(*_WORKLOADS):
        scrapes = [
            *(one for monitor in monitors for one in _by_monitor(monitor, workload, services)),
            *_by_annotation(workload),
        ]
        for first, second in combinations(scrapes, 2):
            if (first.port, first.path) == (second.port, second.path) and first.by != second.by:
                message = (
                    f"{first.by} and {second.by} both scrape port {first.port} of {workload.kind} {workload.name}"
                )
                yield found("scraped-twice", second.place, message, evidence=f"the first is in {first.place}")


def _by_monitor(monitor: Document, workload: Document, services: list[Document]) -> Iterator[_Scrape]:
    name = f"{monitor.kind} {monitor.name}"
    if not _reaches(monitor, workload):
        return
    if monitor.kind == "PodMonitor":
        if _selects(monitor.at("spec", "selector"), _labels(workload)):
            for number, one in enumerate(monitor.at("spec", "podMetricsEndpoints") or []):
                port = _container_port(workload, one.get("port") or one.get("targetPort"))
                if port:
                    place = monitor.place("spec", "podMetricsEndpoints", number, part=name)
                    yield _Scrape(name, place, port, str(one.get("path", _PATH)))
        return
    for service in services:
        own = service.at("metadata", "labels") or {}
        behind = service.at("spec", "selector") or {}
        if _selects(monitor.at("spec", "selector"), own) and behind and behind.items() <= _labels(workload).items():
            for number, one in enumerate(monitor.at("spec", "endpoints") or []):
                port = _container_port(workload, _target(service, one))
                if port:
                    place = monitor.place("spec", "endpoints", number, part=name)
                    yield _Scrape(name, place, port, str(one.get("path", _PATH)))


def _by_annotation(workload: Document) -> Iterator[_Scrape]:
    notes = workload.at("spec", "template", "metadata", "annotations") or {}
    port = str(notes.get("prometheus.io/port", ""))
    if str(notes.get("prometheus.io/scrape", "")).lower() == "true" and port.isdecimal():
        place = workload.place(
            "spec", "template", "metadata", "annotations", part=f"{workload.kind} {workload.name}"
        )
        path = str(notes.get("prometheus.io/path", _PATH))
        yield _Scrape("whatever scrapes by the annotation prometheus.io/scrape", place, int(port), path)


def _reaches(monitor: Document, workload: Document) -> bool:
    """Whether a monitor looks into the namespace of a workload."""
    space = workload.at("metadata", "namespace")
    chosen = monitor.at("spec", "namespaceSelector") or {}
    names = chosen.get("matchNames") or [monitor.at("metadata", "namespace")]
    return bool(chosen.get("any")) or space in names


def _labels(workload: Document) -> Mapping[str, Any]:
    found: Mapping[str, Any] = workload.at("spec", "template", "metadata", "labels") or {}
    return found


def _selects(selector: Any, labels: Mapping[str, Any]) -> bool:
    """Whether plain labels select; a selector with expressions is taken as another's."""
    if not isinstance(selector, Mapping) or selector.get("matchExpressions"):
        return False
    wanted: Mapping[str, Any] = selector.get("matchLabels") or {}
    return wanted.items() <= labels.items()


def _target(service: Document, endpoint: Mapping[str, Any]) -> Any:
    """The port of the pod behind a port of a service: its name or its number."""
    for one in service.at("spec", "ports") or []:
        if one.get("name") == endpoint.get("port"):
            return one.get("targetPort", one.get("port"))
    return endpoint.get("targetPort")


def _container_port(workload: Document, port: Any) -> int:
    """The number of a port of a workload's pods; 0 if it is none of them."""
    if isinstance(port, int):
        return port
    spec = workload.at("spec", "template", "spec") or {}
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    ports = (one for container in containers for one in container.get("ports") or [])
    return next((int(one["containerPort"]) for one in ports if port and one.get("name") == port), 0)
