"""grafanalib, which has no annotations: the one module that imports it (extra `dashboards`)."""

from __future__ import annotations

from grafanalib import core  # type: ignore[import-untyped]

__all__ = ["core"]
