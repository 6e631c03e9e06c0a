"""Scalers that are right, and what the doctor says of texts with such objects, as the tests need it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from specwatch_deploy.doctor.codes import CODES
from specwatch_deploy.doctor.documents import documents
from specwatch_deploy.doctor.examination import examine
from specwatch_deploy.doctor.finding import Finding
from specwatch_deploy.doctor.gathering import Gathered, inputs_of
from specwatch_deploy.doctor.inputs import PrometheusError, Sample

AREAS = {"scalers", "alertmanager"}
Json = dict[str, Any]


@dataclass
class KnownPrometheus:
    """Answers with the same series to every query."""

    now: list[float] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)
    broken: bool = False

    def instant(self, query: str) -> list[Sample]:
        del query
        if self.broken:
            raise PrometheusError("bad_data: parse error")
        return [({"pod": str(number)}, value) for number, value in enumerate(self.now)]

    def range(self, query: str, days: float) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
        del query, days
        if self.broken:
            raise PrometheusError("bad_data: parse error")
        return [({}, [(60.0 * at, value) for at, value in enumerate(row)]) for row in self.history]


def found(texts: Iterable[str], prometheus: KnownPrometheus | None = None) -> list[Finding]:
    """Findings of the areas that are tested here."""
    read = Gathered([one for number, text in enumerate(texts) for one in documents(text, f"{number}.yaml")])
    every = examine(inputs_of(read, prometheus=prometheus))
    return [one for one in every if CODES[one.code].area in AREAS]


def codes(texts: Iterable[str], prometheus: KnownPrometheus | None = None) -> list[str]:
    return [one.code for one in found(texts, prometheus)]


def scaled(**trigger: Any) -> Json:
    """A ScaledObject that is right."""
    metadata = {
        "serverAddress": "http://prometheus.example.com:9090",
        "query": 'sum(vllm:num_requests_waiting{namespace="llm"})',
        "threshold": "5",
        "ignoreNullValues": "false",
    }
    metadata |= trigger.pop("metadata", {})
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "decode", "namespace": "llm"},
        "spec": {
            "scaleTargetRef": {"name": "decode"},
            "minReplicaCount": 1,
            "maxReplicaCount": 10,
            "fallback": {"failureThreshold": 4, "replicas": 2, "behavior": "currentReplicasIfHigher"},
            "triggers": [{"type": "prometheus", "metadata": metadata, **trigger}],
        },
    }


def asking(query: str, threshold: str = "5", **more: Any) -> Json:
    made = scaled(metadata={"query": query, "threshold": threshold}, **more)
    if more.get("metricType") == "Value":
        del made["spec"]["fallback"]
    return made


def text(*objects: Json) -> str:
    return yaml.safe_dump_all(objects, sort_keys=False)


def with_spec(**spec: Any) -> Json:
    found = scaled()
    found["spec"] |= spec
    return found


def hpa(name: str = "decode", **metadata: Any) -> Json:
    external = {"metric": {"name": "kv_use"}, "target": {"type": "AverageValue", "averageValue": "800m"}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "llm", **metadata},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "decode"},
            "minReplicas": 1,
            "maxReplicas": 10,
            "metrics": [{"type": "External", "external": external}],
        },
    }
