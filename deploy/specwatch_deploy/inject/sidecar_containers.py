"""The sidecars as containers of a pod; the chart's template `specwatch.sidecars` makes the same.

Native sidecars, so Kubernetes 1.29 or newer: they start before the engine and end after it. Requests are what was
measured (docs/performance.md, docs/proxy-performance.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

METRICS_PORT: Final = 9477
CLIENT_PORT: Final = 8080
ADMIN_PORT: Final = 9478
DRAIN_S: Final = 30
NAMES: Final = ("specwatch", "specwatch-requests")
STATE: Final = "specwatch-state"
"""Name of the volume."""

_USER: Final = 10001


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarSettings:
    """What the sidecars of one pod are told.

    Attributes:
        image: of specwatch.
        engine_port: port of the engine's page.
        method: as the engine is configured, or nothing.
        payoff_profile: name or file of a step-time profile, or nothing.
        requests: whether the request sidecar is added too.
    """

    image: str
    engine_port: int
    method: str = ""
    payoff_profile: str = ""
    requests: bool = False


def sidecars(settings: SidecarSettings) -> list[dict[str, Any]]:
    """Items of `initContainers`."""
    return [_scraper(settings), *([_proxy(settings)] if settings.requests else [])]


def volumes() -> list[dict[str, Any]]:
    """Items of `volumes`: what the detectors know outlives a restart of their container."""
    return [{"name": STATE, "emptyDir": {"sizeLimit": "64Mi"}}]


def open_ports(settings: SidecarSettings) -> tuple[int, ...]:
    """Ports that the sidecars listen on."""
    return tuple(port["containerPort"] for one in sidecars(settings) for port in one["ports"])


def _scraper(settings: SidecarSettings) -> dict[str, Any]:
    arguments = [
        "exporter",
        "run",
        f"--engine=http://127.0.0.1:{settings.engine_port}",
        f"--listen=:{METRICS_PORT}",
        "--interval=5s",
        "--drift-state=/var/lib/specwatch/drift.json",
        *_optional("--speculation-method", settings.method),
        *_optional("--payoff-profile", settings.payoff_profile),
    ]
    if settings.requests:
        arguments.append(f"--request-metrics=http://127.0.0.1:{ADMIN_PORT}/metrics")
    return {
        **_head(NAMES[0], settings, [*arguments, "--log-level=info"]),
        "ports": [{"name": "specwatch", "containerPort": METRICS_PORT}],
        # No readiness: whether somebody can watch a pod does not decide whether it serves.
        "startupProbe": _probe("/healthz", "specwatch", 2, 30),
        "livenessProbe": _probe("/healthz", "specwatch", 20, 3),
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "20m", "memory": "64Mi"}},
        "securityContext": _security(),
        "volumeMounts": [{"name": STATE, "mountPath": "/var/lib/specwatch"}],
    }


def _proxy(settings: SidecarSettings) -> dict[str, Any]:
    arguments = [
        "proxy",
        "run",
        f"--upstream=http://127.0.0.1:{settings.engine_port}",
        f"--listen=:{CLIENT_PORT}",
        f"--admin-listen=:{ADMIN_PORT}",
        f"--drain={DRAIN_S}s",
        *_optional("--speculation-method", settings.method),
        "--classifier=off",
        "--log-level=info",
    ]
    return {
        **_head(NAMES[1], settings, arguments),
        "ports": [
            {"name": "requests", "containerPort": CLIENT_PORT},
            {"name": "specwatch-req", "containerPort": ADMIN_PORT},
        ],
        "startupProbe": _probe("/healthz", "specwatch-req", 2, 30),
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "specwatch-req"}, "periodSeconds": 5},
        "livenessProbe": _probe("/healthz", "specwatch-req", 20, 3),
        "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "200m", "memory": "96Mi"}},
        "securityContext": _security(),
    }


def _head(name: str, settings: SidecarSettings, arguments: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "args": arguments,
    }


def _optional(flag: str, value: str) -> list[str]:
    return [f"{flag}={value}"] if value else []


def _probe(path: str, port: str, period_s: int, failures: int) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}, "periodSeconds": period_s, "failureThreshold": failures}


def _security() -> dict[str, Any]:
    """All of the restricted standard: what the pod itself says is somebody else's."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "runAsGroup": _USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
