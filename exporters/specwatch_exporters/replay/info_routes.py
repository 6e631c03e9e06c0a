"""Routes that only tell: metrics, health, version, models."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from specwatch_exporters.replay.core import EngineCore
from specwatch_exporters.replay.responses import json_response


class InfoRoutes:
    """Handlers that read the engine.

    Args:
        core: gives the engine's current life.
        alive: whether the engine still steps.
    """

    def __init__(self, core: Callable[[], EngineCore], alive: Callable[[], bool]) -> None:
        self._core = core
        self._alive = alive

    async def metrics(self, _request: web.Request) -> web.Response:
        """`GET /metrics`: text format whatever `Accept` says, as vLLM's Python frontend does."""
        return web.Response(body=self._core().page.render(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def health(self, _request: web.Request) -> web.Response:
        """`GET /health`: 200 with an empty body, 503 when the engine died."""
        return web.Response(status=200 if self._alive() else 503)

    async def version(self, _request: web.Request) -> web.Response:
        """`GET /version`."""
        return json_response({"version": self._core().settings.version})

    async def models(self, _request: web.Request) -> web.Response:
        """`GET /v1/models`."""
        core = self._core()
        card = {
            "id": core.settings.model_name,
            "object": "model",
            "created": int(core.started),
            "owned_by": "vllm",
            "root": core.settings.model_name,
            "parent": None,
            "max_model_len": core.settings.max_model_len,
            "permission": [],
        }
        return json_response({"object": "list", "data": [card]})
