"""Two monitors on one port of one pod."""

from __future__ import annotations

import pytest

from deploy.doctor.doctor_run import ask

WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: llama, namespace: llm}
spec:
  template:
    metadata:
      labels: {app: llama}
      annotations: {NOTES}
    spec:
      containers:
      - {name: vllm, ports: [{name: http, containerPort: 8000}]}
      initContainers:
      - {name: specwatch, ports: [{name: specwatch, containerPort: 9477}]}
"""
SERVICE = """apiVersion: v1
kind: Service
metadata: {name: llama, namespace: llm, labels: {app: llama}}
spec:
  selector: {app: llama}
  ports: [{name: api, port: 80, targetPort: http}]
"""
POD_MONITOR = """apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: pods, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: llama}}
  namespaceSelector: {SPACES}
  podMetricsEndpoints: [{port: PORT}]
"""
SERVICE_MONITOR = """apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: services, namespace: llm}
spec:
  selector: {matchLabels: {app: llama}}
  endpoints: [{port: api}]
"""


def manifests(
    port: str = "http", notes: str = "", namespace: str = "llm", spaces: str = "", *, service: bool = True
) -> str:
    pods = POD_MONITOR.replace("PORT", port).replace("NAMESPACE", namespace).replace("SPACES", spaces)
    parts = [WORKLOAD.replace("NOTES", notes), pods, *([SERVICE, SERVICE_MONITOR] if service else [])]
    return "---\n".join(parts)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        (manifests(), 1),
        (manifests(port="specwatch"), 0),
        (manifests(service=False), 0),
        (manifests(namespace="monitoring"), 0),
        (manifests(namespace="monitoring", spaces="any: true"), 1),
        (manifests(namespace="monitoring", spaces="matchNames: [llm]"), 1),
        (manifests(service=False, notes='prometheus.io/scrape: "true", prometheus.io/port: "8000"'), 1),
        (manifests(service=False, notes='prometheus.io/scrape: "true", prometheus.io/port: "9477"'), 0),
    ],
)
def test_a_pod_is_scraped_once(text: str, times: int) -> None:
    found = [one for one in ask(files={"all.yaml": text}) if one.code == "scraped-twice"]
    assert len(found) == times
    for one in found:
        assert "port 8000 of Deployment llm/llama" in one.message
        assert one.place.line > 0
