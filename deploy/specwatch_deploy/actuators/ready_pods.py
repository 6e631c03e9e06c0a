"""Which pods are ready to take traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from specwatch_deploy.actuators.cluster import ENDPOINT_SLICES, PODS, Cluster, Json
from specwatch_deploy.actuators.permission import Permission, permissions

SERVICE_LABEL = "kubernetes.io/service-name"
"""By this label EndpointSlices name their Service (discovery.k8s.io/v1)."""

ENDPOINT_PERMISSIONS: tuple[Permission, ...] = permissions(ENDPOINT_SLICES, "list")
POD_PERMISSIONS: tuple[Permission, ...] = permissions(PODS, "list")


def ready_endpoints(cluster: Cluster, namespace: str, service: str) -> set[str]:
    """Names (or else addresses) of a Service's ready endpoints; a pod with two addresses counts once."""
    slices = cluster.labelled(ENDPOINT_SLICES, namespace, {SERVICE_LABEL: service})
    return {
        str((endpoint.get("targetRef") or {}).get("name") or endpoint["addresses"][0])
        for found in slices
        for endpoint in found.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("ready")
        is not False  # absent means ready, by the API's definition
    }


def ready_pods(cluster: Cluster, namespace: str, labels: Mapping[str, str]) -> set[str]:
    """Names of the pods with these labels that are ready and not being deleted."""
    return set(_ready(cluster.labelled(PODS, namespace, labels)))


def _ready(pods: Iterable[Json]) -> Iterable[str]:
    for pod in pods:
        conditions = (pod.get("status") or {}).get("conditions") or []
        ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
        if ready and "deletionTimestamp" not in pod["metadata"]:
            yield str(pod["metadata"]["name"])
