"""Worlds of series for promtool: healthy ones from `worlds/*.toml`, changed by a case or by a calamity."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from specwatch_alerts.origin import Origin
from specwatch_exporters.catalog import BY_NAME

FOLDER: Final = Path(__file__).parent
TARGET: Final = {"namespace": "serving", "pod": "vllm-0", "instance": "a:9400", "job": "specwatch"}
# Labels that a series has by its exporter, unless the key says otherwise; "" means that it has none.
BY_PREFIX: Final[dict[str, dict[str, str]]] = {
    "specwatch:": {"namespace": "serving", "model": "llama"},
    "specwatch_": TARGET,
    "vllm:": {**TARGET, "model_name": "llama"},
    "sglang:": {**TARGET, "model_name": "llama", "engine_type": "unified"},
    "up": TARGET,
    "process_": TARGET,
    "kube_horizontalpodautoscaler_": {
        "namespace": "serving",
        "horizontalpodautoscaler": "keda-hpa-llama",
        "job": "ksm",
    },
    "kube_deployment_": {"namespace": "serving", "deployment": "vllm", "job": "ksm"},
    "kube_statefulset_": {"namespace": "serving", "statefulset": "vllm", "job": "ksm"},
    "kube_pod_": {"namespace": "serving", "pod": "vllm-0", "container": "vllm", "job": "ksm"},
    "keda_": {"namespace": "keda", "exported_namespace": "serving", "scaledObject": "llama", "job": "keda"},
    "DCGM_": {"namespace": "gpu", "pod": "dcgm-exporter-x", "Hostname": "node-1", "gpu": "0", "job": "dcgm"},
}
_KEY: Final = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?")
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')

Series = tuple[str, tuple[tuple[str, str], ...]]
World = dict[Series, str]


def series(key: str) -> Series:
    """A series from its short form: the exporter's labels are added, labels with an empty value left out."""
    found = _KEY.fullmatch(key)
    assert found is not None, key
    name = found["name"]
    default = next(labels for prefix, labels in BY_PREFIX.items() if name.startswith(prefix))
    own = dict(_LABEL.findall(found["labels"] or ""))
    base = re.sub(r"_(bucket|count|sum)$", "", name)
    row = BY_NAME.get(name) or BY_NAME.get(base)
    model = {"model": "llama"} if row is not None and "model" in row.labels else {}
    # A traffic class may be empty and still be meant; Prometheus knows no difference between empty and absent.
    labels = {label: value for label, value in {**default, **model, **own}.items() if value}
    return name, tuple(sorted(labels.items()))


def healthy(origin: Origin) -> World:
    """The healthy world of an origin."""
    table = tomllib.loads((FOLDER / "worlds" / f"{origin.value}.toml").read_text())
    return {series(key): values for key, values in table["series"].items()}


def changed(world: World, change: Mapping[str, str]) -> World:
    """The world with some series of other values; an empty text takes a series away."""
    new = {**world, **{series(key): values for key, values in change.items()}}
    return {key: values for key, values in new.items() if values}


def input_series(world: World, minutes: int) -> list[dict[str, str]]:
    """The world as promtool's input series, one sample a minute; `0+60`, `1` and `NaN` go on to the end."""
    found = []
    for (name, labels), values in sorted(world.items()):
        written = ",".join(f'{label}="{value}"' for label, value in labels)
        found.append({"series": f"{name}{{{written}}}", "values": _whole(values, minutes)})
    return found


def _whole(values: str, minutes: int) -> str:
    if values == "NaN":
        return " ".join(["NaN"] * (minutes + 1))
    if "x" in values or " " in values:
        return values
    return f"{values}x{minutes}" if "+" in values else f"{values}+0x{minutes}"
