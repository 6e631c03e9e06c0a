"""Dashboards in the forms in which a Grafana takes them from files or from Kubernetes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from specwatch_dashboards.delivery_objects import config_map, grafana_dashboard
from specwatch_dashboards.delivery_order import DeliveryOrder, Form
from specwatch_dashboards.delivery_yaml import yaml_file
from specwatch_dashboards.kubernetes_names import is_label, is_namespace, object_name
from specwatch_dashboards.provisioning import provider

Json = Mapping[str, Any]
CONFIGMAP_BYTES: Final = 1024 * 1024
"""Kubernetes takes no ConfigMap with more, and no object of etcd's usual limit of 1.5 MiB."""


class DeliveryError(ValueError):
    """A form cannot hold a dashboard; one line."""


def deliver(dashboards: Mapping[str, Json], out: Path, form: Form, order: DeliveryOrder) -> list[Path]:
    """Write all files into a folder, which is made.

    Raises:
        DeliveryError: a dashboard is too large for a ConfigMap, or Kubernetes takes no such name or label.
        OSError: a file cannot be written.
    """
    if form is not Form.PROVISIONING:
        _check_names(dashboards, order)
    files = _files(dashboards, form, order)
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [out / name for name in files]


def _check_names(dashboards: Mapping[str, Json], order: DeliveryOrder) -> None:
    if not is_namespace(order.namespace):
        raise DeliveryError(
            f"--namespace {order.namespace!r}: Kubernetes takes lower case letters, digits and dashes"
        )
    for option, labels in (("--label", order.labels), ("--instance", order.instances)):
        for key, value in labels.items():
            if not is_label(key, value):
                raise DeliveryError(f"{option} {f'{key}={value}'!r}: Kubernetes takes no such label")
    names: dict[str, str] = {}
    for uid in dashboards:
        other = names.setdefault(object_name(uid), uid)
        if other != uid:
            raise DeliveryError(f"{uid} and {other}: both would be the object {object_name(uid)}")


def _files(dashboards: Mapping[str, Json], form: Form, order: DeliveryOrder) -> dict[str, str]:
    if form is Form.PROVISIONING:
        texts = {f"dashboards/{uid}.json": _readable(one) for uid, one in dashboards.items()}
        return {"provisioning/dashboards/specwatch.yaml": yaml_file(provider(order.folder, order.path)), **texts}
    if form is Form.GRAFANADASHBOARD:
        return {
            f"{uid}.grafanadashboard.yaml": yaml_file(
                grafana_dashboard(uid, _readable(one), order.folder, order.namespace, order.instances)
            )
            for uid, one in dashboards.items()
        }
    found = {}
    for uid, one in dashboards.items():
        text = _readable(one)
        size = len(text.encode())
        if size > CONFIGMAP_BYTES:
            raise DeliveryError(f"{uid} has {size} bytes, and a ConfigMap holds {CONFIGMAP_BYTES}")
        made = config_map(uid, text, order.folder, order.namespace, order.labels)
        found[f"{uid}.configmap.yaml"] = yaml_file(made)
    return found


def _readable(dashboard: Json) -> str:
    """JSON that diffs well and is no larger than it must be for that."""
    return json.dumps(dashboard, indent=1, ensure_ascii=False) + "\n"
