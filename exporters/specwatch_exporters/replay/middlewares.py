"""What surrounds every handler: error bodies, failures, HTTP metrics."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from specwatch_exporters.replay.api_error import ApiError
from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.core import EngineCore
from specwatch_exporters.replay.fault_responses import FaultResponder
from specwatch_exporters.replay.faults import FaultBoard
from specwatch_exporters.replay.responses import json_response

UNTEMPLATED = "none"
"""Handler label of a request that matches no route."""


def http_metrics(core: Callable[[], EngineCore], clock: Clock) -> Middleware:
    """Count every request but those to `/replay/`, which no real engine has."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        page = core().page
        began = clock.monotonic()
        status, size = 200, 0
        try:
            response = await handler(request)
            status, size = response.status, response.content_length or 0
        finally:
            resource = request.match_info.route.resource
            path = UNTEMPLATED if resource is None else resource.canonical
            if not path.startswith("/replay/"):
                seconds = clock.monotonic() - began
                page.http.note(request.method, path, status, seconds, (request.content_length or 0, size))
        return response

    return middleware


def error_bodies() -> Middleware:
    """Turn errors into the bodies that vLLM gives them."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except ApiError as error:
            return json_response(error.body(), status=error.status)
        except web.HTTPRequestEntityTooLarge as error:
            return json_response(ApiError(str(error), status=413).body(), status=413)
        except web.HTTPException as error:
            return json_response({"detail": error.reason}, status=error.status)

    return middleware


def failures(board: FaultBoard, responder: FaultResponder) -> Middleware:
    """Answer requests that meet a failure."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        fault = board.on_path(request.path)
        if fault is None:
            return await handler(request)
        return await responder.answer(fault, request, handler)

    return middleware
