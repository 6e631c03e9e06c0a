"""How to reach an API that speaks Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from specwatch_exporters.sidecar.endpoint import redact

TENANT_HEADER: Final = "X-Scope-OrgID"
"""Names the tenant to Mimir and Cortex."""


@dataclass(frozen=True, slots=True)
class PrometheusAddress:
    """How to reach the API.

    Attributes:
        url: without `/api/v1`, such as `http://prometheus.example.com:9090` or `https://mimir.example.com/prometheus`.
        headers: sent with each request.
        token_file: bearer token, read again at each request, or None.
        ca_file: authorities to trust over https instead of the system's, or None.
        insecure: trust any certificate.
        timeout_s: seconds of silence after which an answer is given up.
        matchers: further label matchers, such as `namespace="llm"`.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    token_file: Path | None = None
    ca_file: Path | None = None
    insecure: bool = False
    timeout_s: float = 30.0
    matchers: str = ""

    @property
    def shown(self) -> str:
        """The URL for people, without credentials."""
        return redact(self.url)
