"""Routes under `/replay/`: look at the engine, change it, restart it, make it fail."""

from __future__ import annotations

import json
from typing import Any, Protocol

from aiohttp import web

from specwatch_exporters.replay.api_error import ApiError
from specwatch_exporters.replay.control_body import FaultOrder, down_seconds, fault_order, settings_changes
from specwatch_exporters.replay.responses import json_response
from specwatch_exporters.replay.settings import ReplaySettings


class Controllable(Protocol):
    """What the control routes need of the engine."""

    @property
    def settings(self) -> ReplaySettings:
        """Settings in force."""

    def state(self) -> dict[str, Any]:
        """The engine's state as JSON."""

    async def configure(self, changes: dict[str, Any], keep: web.BaseRequest | None = None) -> bool:
        """Change settings; True when it took a restart."""

    async def restart(self, down_s: float = 0.0, keep: web.BaseRequest | None = None) -> None:
        """Begin a new life."""

    async def fail(self, order: FaultOrder, keep: web.BaseRequest | None = None) -> None:
        """Begin or end failures."""


class Control:
    """Handlers of the control routes; every wrong body is answered with 400 and changes nothing."""

    def __init__(self, engine: Controllable) -> None:
        self._engine = engine

    async def state(self, _request: web.Request) -> web.Response:
        """`GET /replay/state`."""
        return json_response(self._engine.state())

    async def config(self, request: web.Request) -> web.Response:
        """`POST /replay/config`: any of the keys of `control_body`.

        Method, profile, model and `num_speculative_tokens` restart the engine, as they would a real one.
        """
        body = await _body(request)
        try:
            changes = settings_changes(body, self._engine.settings)
            restarted = await self._engine.configure(changes, keep=request)
        except ValueError as error:
            raise ApiError(str(error)) from None
        return json_response({"restarted": restarted, "state": self._engine.state()})

    async def restart(self, request: web.Request) -> web.Response:
        """`POST /replay/restart`: `{"down_s": seconds}`, answered when the old life is over."""
        try:
            seconds = down_seconds(await _body(request))
        except ValueError as error:
            raise ApiError(str(error)) from None
        await self._engine.restart(seconds, keep=request)
        return json_response({"restarted": True, "state": self._engine.state()})

    async def fail(self, request: web.Request) -> web.Response:
        """`POST /replay/fail`: `{"mode", "target", "seconds", "delay_s"}`; mode `none` ends all failures."""
        try:
            order = fault_order(await _body(request))
        except ValueError as error:
            raise ApiError(str(error)) from None
        await self._engine.fail(order, keep=request)
        return json_response({"state": self._engine.state()})


async def _body(request: web.Request) -> dict[str, Any]:
    raw = await request.read()
    if not raw:
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ApiError(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise ApiError("the body must be a JSON object")
    return body
