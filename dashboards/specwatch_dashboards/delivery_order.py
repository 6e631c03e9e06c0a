"""What takes the dashboards, and where they are to appear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Form(StrEnum):
    """What takes the dashboards.

    `configmap`: the sidecar of Grafana's Helm chart. `grafanadashboard`: the Grafana operator.
    `provisioning`: Grafana itself, from files.
    """

    CONFIGMAP = "configmap"
    GRAFANADASHBOARD = "grafanadashboard"
    PROVISIONING = "provisioning"


@dataclass(frozen=True, slots=True)
class DeliveryOrder:
    """Where they are to appear.

    Attributes:
        folder: title of Grafana's folder.
        namespace: of Kubernetes objects; empty leaves it to kubectl.
        labels: that ConfigMaps are found by.
        instances: labels of the operator's Grafanas that take them.
        path: folder of the dashboards' files on Grafana's machine.
    """

    folder: str = "specwatch"
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: {"grafana_dashboard": "1"})
    instances: Mapping[str, str] = field(default_factory=lambda: {"dashboards": "grafana"})
    path: str = "/var/lib/grafana/dashboards/specwatch"
