"""Kubernetes objects that hold one dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specwatch_dashboards.kubernetes_names import object_name


def config_map(uid: str, text: str, folder: str, namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """A ConfigMap as Grafana's Helm chart finds it, by label; the folder is an annotation.

    The chart must have `sidecar.dashboards.enabled`, and `folderAnnotation: grafana_folder` with
    `provider.foldersFromFilesStructure` for the folder.
    """
    metadata = _metadata(uid, namespace)
    metadata["labels"] = {"app.kubernetes.io/part-of": "specwatch", **labels}
    metadata["annotations"] = {"grafana_folder": folder}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {f"{uid}.json": text}}


def grafana_dashboard(
    uid: str, text: str, folder: str, namespace: str, instances: Mapping[str, str]
) -> dict[str, Any]:
    """A GrafanaDashboard of the Grafana operator, version 5 and newer (`grafana.integreatly.org/v1beta1`)."""
    metadata = _metadata(uid, namespace)
    metadata["labels"] = {"app.kubernetes.io/part-of": "specwatch"}
    spec = {
        "allowCrossNamespaceImport": True,
        "folder": folder,
        "instanceSelector": {"matchLabels": dict(instances)},
        "json": text,
    }
    return {
        "apiVersion": "grafana.integreatly.org/v1beta1",
        "kind": "GrafanaDashboard",
        "metadata": metadata,
        "spec": spec,
    }


def _metadata(uid: str, namespace: str) -> dict[str, Any]:
    name = object_name(uid)
    return {"name": name, "namespace": namespace} if namespace else {"name": name}
