"""Answers that show a failure."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.faults import PARTIAL, Fault, FaultBoard, FaultMode

REQUEST_FAULT = web.RequestKey("replay_fault", Fault)
"""Where a handler that streams finds the failure that it must show itself."""
HTML_PAGE = b"<!DOCTYPE html><html><body><h1>It works</h1></body></html>\n"


class FaultResponder:
    """Answers requests that meet a failure.

    Args:
        board: failures in force.
        clock: source of time.
    """

    def __init__(self, board: FaultBoard, clock: Clock) -> None:
        self._board = board
        self._clock = clock

    async def answer(self, fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer as the failure demands."""
        if fault.mode is FaultMode.HANG:
            return await self.give_up(fault, request, web.Response(status=503))
        if fault.mode is FaultMode.SLOW:
            await self._clock.sleep(fault.delay)
        if fault.mode in PARTIAL:
            request[REQUEST_FAULT] = fault
            return await self._begin(fault, request, await handler(request))
        made = _made_up(fault.mode)
        return await handler(request) if made is None else made

    async def give_up(self, fault: Fault, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        """Leave the client with what it has: at once for `cut`, else when the failure ends."""
        if fault.mode is not FaultMode.CUT:
            await self._board.ended(fault)
        cut_off(request)
        return response

    async def _begin(self, fault: Fault, request: web.Request, whole: web.StreamResponse) -> web.StreamResponse:
        """Send the first half of an answer that is not a stream."""
        if not isinstance(whole, web.Response) or not isinstance(whole.body, bytes) or not whole.body:
            return whole
        half = whole.body[: len(whole.body) // 2].rstrip(b"\n")
        headers = {"Content-Type": whole.headers["Content-Type"]}
        if fault.mode is FaultMode.TRUNCATE:
            return web.Response(status=whole.status, body=half, headers=headers)
        headers["Content-Length"] = str(len(whole.body))
        response = web.StreamResponse(status=whole.status, headers=headers)
        await response.prepare(request)
        await response.write(half)
        return await self.give_up(fault, request, response)


def cut_off(request: web.Request) -> None:
    """Close a request's connection without finishing the response."""
    if request.transport is not None:
        request.transport.abort()


def _made_up(mode: FaultMode) -> web.Response | None:
    """An answer that does not come from the engine; None when the engine answers."""
    if mode is FaultMode.HTML:
        return web.Response(body=HTML_PAGE, content_type="text/html", charset="utf-8")
    if mode is FaultMode.REDIRECT:
        return web.Response(status=302, headers={"Location": "http://example.com/"})
    if mode in {FaultMode.ERROR_500, FaultMode.ERROR_503}:
        status = int(mode.value)
        text = "Internal Server Error" if status == 500 else "Service Unavailable"
        return web.Response(status=status, text=text)
    return None
