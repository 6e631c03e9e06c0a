"""The chart through the real helm: what `helm template` gives for one set of values, as objects."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools.tool_paths import find_tool

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy" / "chart" / "specwatch"
VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
"""One file per mode and way of using it."""

PROMETHEUS_API = "monitoring.coreos.com/v1"
KEDA_API = "keda.sh/v1alpha1"
GATEWAY_API = "gateway.networking.k8s.io/v1"
APIS = (PROMETHEUS_API, KEDA_API, GATEWAY_API)
VERSIONS = tuple(f"1.{minor}.0" for minor in range(29, 37))
NAMESPACE = "llm"

Object = dict[str, Any]


@dataclass(frozen=True)
class Render:
    """What helm said.

    Attributes:
        status: its exit status.
        text: the manifest, or nothing.
        error: what it complained of.
    """

    status: int
    text: str
    error: str

    @property
    def objects(self) -> list[Object]:
        """The manifest's objects; fails with helm's words if there is none."""
        assert self.status == 0, self.error
        return [found for found in yaml.load_all(self.text, Loader=yaml.CSafeLoader) if found]


@cache
def template(
    *values: Path | str,
    chart: Path = CHART,
    apis: tuple[str, ...] = APIS,
    version: str = "1.33.0",
    release: str = "demo",
) -> Render:
    """Render with files of values and `key=value` settings, as for a cluster with these APIs."""
    command = [str(find_tool("helm")), "template", release, str(chart), "--namespace", NAMESPACE]
    command += ["--kube-version", version, *(f"--api-versions={api}" for api in apis)]
    for value in values:
        command += ["--values", str(value)] if isinstance(value, Path) else [_flag(value), value]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return Render(done.returncode, done.stdout, done.stderr)


def _flag(value: str) -> str:
    """helm takes a number with a point for text, unless it is told as JSON."""
    return "--set-json" if re.fullmatch(r".*=[0-9]+\.[0-9]+", value) else "--set"


def lint(*values: Path) -> Render:
    """`helm lint --strict`."""
    command = [str(find_tool("helm")), "lint", "--strict", str(CHART)]
    command += [part for value in values for part in ("--values", str(value))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return Render(done.returncode, done.stdout, done.stderr)


def ci(name: str) -> Path:
    """Values of `ci/` by name."""
    return CHART / "ci" / f"{name}-values.yaml"


def named(objects: list[Object], kind: str, name: str) -> Object:
    """The object of that kind and name."""
    (found,) = [one for one in objects if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


def of_kind(objects: list[Object], *kinds: str) -> list[Object]:
    """Objects of these kinds."""
    return [one for one in objects if one["kind"] in kinds]


def pods(objects: list[Object]) -> list[tuple[str, Object]]:
    """Names of workloads, and their pods' templates."""
    return [(one["metadata"]["name"], one["spec"]["template"]) for one in of_kind(objects, "Deployment")]


def containers(template_of_pod: Object) -> list[Object]:
    """All containers of a pod, sidecars first."""
    spec = template_of_pod["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]
