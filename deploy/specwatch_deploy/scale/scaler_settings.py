"""What is scaled, between which bounds, and by which scaler."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from specwatch_deploy.scale.scale_settings import ScaleError

MOST_NAME: Final = 54
"""KEDA calls its HPA `keda-hpa-` and this name, in 63 characters."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_KINDS: Final = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
}


class Scaler(StrEnum):
    """Who brings the demand to the HPA. Both serve external metrics: a cluster has one of them."""

    KEDA = "keda"
    ADAPTER = "adapter"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerSettings:
    """One scaled workload.

    Attributes:
        workload: its name, and that of the objects.
        kind: of the workload.
        least: replicas, 1 or more: without a pod nobody counts requests, so nothing could wake the first one.
        most: replicas.
        fallback: replicas to have at least while the demand cannot be read; `least` if None.
        scaler: which objects to make.
        prometheus: address that KEDA asks; unused by the adapter.
    """

    workload: str
    kind: str = "Deployment"
    least: int = 2
    most: int = 8
    fallback: int | None = None
    scaler: Scaler = Scaler.KEDA
    prometheus: str = "http://prometheus-operated.monitoring.svc:9090"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.workload) or len(self.workload) > MOST_NAME:
            raise ScaleError(
                f"workload {self.workload!r} is no name: lower case, digits, -, 1 to {MOST_NAME} letters"
            )
        if self.kind not in _KINDS:
            raise ScaleError(f"kind {self.kind!r} is not one of: {', '.join(_KINDS)}")
        if not 1 <= self.least <= self.most <= 1000:
            raise ScaleError(
                f"replicas must be 1 <= min <= max <= 1000, not {self.least} to {self.most}; the last pod "
                "cannot be stopped, because the demand is counted by pods"
            )
        if self.fallback is not None and not self.least <= self.fallback <= self.most:
            raise ScaleError(f"fallback replicas must be between min and max, not {self.fallback}")
        self._check_address()

    @property
    def api_version(self) -> str:
        """Of the workload's kind."""
        return _KINDS[self.kind]

    @property
    def spare(self) -> int:
        """Replicas of the fallback."""
        return self.least if self.fallback is None else self.fallback

    def _check_address(self) -> None:
        try:
            parts = urlsplit(self.prometheus)
            good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
            _ = parts.port
        except ValueError:
            good = False
        if not good or any(letter.isspace() for letter in self.prometheus):
            raise ScaleError(
                f"Prometheus address {self.prometheus!r} must be http:// or https:// and a host, without a password"
            )
