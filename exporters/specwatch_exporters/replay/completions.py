"""`/v1/completions` and `/v1/chat/completions`, whole and streamed."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from specwatch_exporters.replay.api_request import ApiRequest, parse_request, read_json
from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.core import EngineCore
from specwatch_exporters.replay.fault_responses import REQUEST_FAULT, FaultResponder, cut_off
from specwatch_exporters.replay.faults import Fault, FaultMode
from specwatch_exporters.replay.mailbox import Mailbox, MailboxClosedError
from specwatch_exporters.replay.request_metrics import metrics_object
from specwatch_exporters.replay.responses import DONE, Envelope, event, json_response
from specwatch_exporters.replay.sequence import Submission
from specwatch_exporters.replay.words import text_of

EVENTS_BEFORE_FAULT = 3
"""Events that a stream sends before it shows a failure."""


@dataclass(slots=True)
class Exchange:
    """One request on its way through the engine."""

    request: web.Request
    api: ApiRequest
    core: EngineCore
    mailbox: Mailbox
    envelope: Envelope


class Completions:
    """Handlers of both routes.

    Args:
        core: gives the engine's current life.
        responder: shows failures.
        clock: source of time.
    """

    def __init__(self, core: Callable[[], EngineCore], responder: FaultResponder, clock: Clock) -> None:
        self._core = core
        self._responder = responder
        self._clock = clock

    async def completions(self, request: web.Request) -> web.StreamResponse:
        """`POST /v1/completions`."""
        return await self._serve(request, chat=False)

    async def chat_completions(self, request: web.Request) -> web.StreamResponse:
        """`POST /v1/chat/completions`."""
        return await self._serve(request, chat=True)

    async def _serve(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        body = read_json(await request.read(), request.headers.get("Content-Type", ""))
        core = self._core()
        api = parse_request(body, request.headers, core.settings, chat=chat)
        envelope = self._envelope(request, api, core)
        mailbox = core.submit(
            Submission(envelope.response_id, api.traffic_class, api.prompt_tokens, api.max_tokens, api.ignore_eos)
        )
        exchange = Exchange(request, api, core, mailbox, envelope)
        try:
            return await (self._stream(exchange) if api.stream else self._whole(exchange))
        except MailboxClosedError:
            cut_off(request)
            return web.Response(status=500)
        finally:
            core.release(mailbox)

    def _envelope(self, request: web.Request, api: ApiRequest, core: EngineCore) -> Envelope:
        """The incoming `X-Request-Id` becomes part of the response id, as in vLLM."""
        base = request.headers.get("X-Request-Id") or uuid.uuid4().hex[:16]
        prefix = "chatcmpl" if api.chat else "cmpl"
        created = int(self._clock.wall())
        return Envelope(f"{prefix}-{base}", api.chat, core.settings.model_name, created, api.prompt_tokens)

    async def _whole(self, exchange: Exchange) -> web.Response:
        text: list[str] = []
        while True:
            output = await exchange.mailbox.take()
            text.append(text_of(output))
            if output.finish is not None:
                break
        sequence = exchange.mailbox.sequence
        metrics = metrics_object(sequence, exchange.core.settings)
        body = exchange.envelope.whole("".join(text), output.finish.value, sequence.generated, metrics)
        return json_response(body)

    async def _stream(self, exchange: Exchange) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        fault = exchange.request.get(REQUEST_FAULT)
        try:
            await response.prepare(exchange.request)
            async with aclosing(self._events(exchange)) as events:
                sent = 0
                async for data in events:
                    if fault is not None and sent >= EVENTS_BEFORE_FAULT:
                        return await self._break_off(fault, exchange.request, response)
                    await response.write(data)
                    sent += 1
        except ConnectionError:
            return response
        return response

    async def _break_off(
        self, fault: Fault, request: web.Request, response: web.StreamResponse
    ) -> web.StreamResponse:
        if fault.mode is FaultMode.TRUNCATE:
            return response
        return await self._responder.give_up(fault, request, response)

    async def _events(self, exchange: Exchange) -> AsyncGenerator[bytes, None]:
        """One event per output, that is per engine step unless the client is slow."""
        api, envelope, mailbox = exchange.api, exchange.envelope, exchange.mailbox
        tokens = 0
        finish = None
        while finish is None:
            output = await mailbox.take()
            finish = output.finish
            if tokens == 0 and api.chat:
                yield event(_with_usage(envelope.role_chunk(), exchange, 0))
            tokens += output.tokens
            chunk = envelope.text_chunk(text_of(output), None if finish is None else finish.value)
            if finish is not None and not api.include_usage:
                envelope.stamp(chunk)
            yield event(_with_usage(chunk, exchange, tokens))
        if api.include_usage:
            metrics = metrics_object(mailbox.sequence, exchange.core.settings)
            yield event(envelope.usage_chunk(tokens, metrics))
        yield DONE


def _with_usage(chunk: dict[str, Any], exchange: Exchange, tokens: int) -> dict[str, Any]:
    if exchange.api.continuous_usage:
        chunk["usage"] = exchange.envelope.usage(tokens)
    return chunk
