"""The request sidecar's data path, put together: listens, passes on, stops in good order."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final

from specwatch_exporters.proxy.api_paths import find_api, takes_stream_options
from specwatch_exporters.proxy.client_connection import ClientConnection
from specwatch_exporters.proxy.engine_pool import EnginePool, EngineTarget
from specwatch_exporters.proxy.http_head import RequestHead
from specwatch_exporters.proxy.observer import Observer
from specwatch_exporters.proxy.parties import Rewriter, Witness
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.request_watch import RequestWatch
from specwatch_exporters.proxy.usage_request import UsageRequest
from specwatch_exporters.proxy.witness import GuardedWatch

_BACKLOG: Final = 1024


class ProxyService:
    """Passes requests on to one engine.

    Args:
        target: where the engine is.
        observer: what requests report to.
        limits: see `ProxyLimits`.
        prefix: path of the engine's address.
        host_header: replaces the client's `Host`, if not None.
        request_usage: ask for usage on the client's behalf.
    """

    def __init__(
        self,
        target: EngineTarget,
        observer: Observer,
        limits: ProxyLimits = ProxyLimits(),  # noqa: B008 - immutable
        *,
        prefix: bytes = b"",
        host_header: bytes | None = None,
        request_usage: bool = False,
    ) -> None:
        self.limits = limits
        self.prefix = prefix
        self.host_header = host_header
        self.stopping = False
        self.pool = EnginePool(target, limits)
        self._observer = observer
        self._request_usage = request_usage
        self._server: asyncio.Server | None = None
        self._clients: set[ClientConnection] = set()
        self._empty = asyncio.Event()

    @property
    def client_count(self) -> int:
        """Connections of clients."""
        return len(self._clients)

    def client_joined(self, client: ClientConnection) -> None:
        """A client has connected."""
        self._clients.add(client)
        self._empty.clear()

    def client_left(self, client: ClientConnection) -> None:
        """Its connection is gone."""
        self._clients.discard(client)
        if not self._clients:
            self._empty.set()

    def witness(self, head: RequestHead) -> Witness:
        """Whoever watches this request."""
        api = find_api(head.method, head.path)
        watch = None if api is None else RequestWatch(api, head, self._observer)
        return GuardedWatch(self._observer, watch)

    def rewriter(self, head: RequestHead) -> Rewriter | None:
        """Whoever changes this request, or None."""
        if not self._request_usage:
            return None
        api = find_api(head.method, head.path)
        wanted = api is not None and takes_stream_options(api)
        return UsageRequest(self.limits.read_bytes) if wanted else None

    async def start(self, listener: socket.socket) -> None:
        """Accept connections on a bound socket; it is closed by `stop`."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: ClientConnection(self), sock=listener, backlog=_BACKLOG)

    async def stop(self, grace_s: float) -> None:
        """Accept no more, let answers under way finish for so many seconds, then cut off what is left."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        for client in tuple(self._clients):
            client.close_when_idle()
        if self._clients:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), grace_s)
        for client in tuple(self._clients):
            client.abort()
        if self._clients:
            await self._empty.wait()
        await self.pool.close()
