"""The request sidecar's data path, put together: listens, passes on, stops in good order."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from specwatch_exporters.proxy.api_paths import find_api, takes_stream_options
from specwatch_exporters.proxy.client_connection import ClientConnection
from specwatch_exporters.proxy.client_listener import ClientListener
from specwatch_exporters.proxy.engine_pool import Applicant, EnginePool, EngineTarget
from specwatch_exporters.proxy.http_head import RequestHead, Route
from specwatch_exporters.proxy.leave_watch import LeaveWatch
from specwatch_exporters.proxy.observer import Observer
from specwatch_exporters.proxy.own_address import Ends
from specwatch_exporters.proxy.parties import Rewriter, Witness
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.request_watch import RequestWatch
from specwatch_exporters.proxy.sparse_log import SparseLog
from specwatch_exporters.proxy.usage_request import UsageRequest
from specwatch_exporters.proxy.witness import GuardedWatch

LOG: Final = logging.getLogger("specwatch.proxy")


class Connections(Protocol):
    """Connections to one engine, or to several pools."""

    @property
    def open_count(self) -> int:
        """Connections, idle and in use, and those being made."""

    def is_own(self, client: Ends | None) -> bool:
        """Whether a client's connection is the other side of one of them."""

    def request(self, applicant: Applicant) -> None:
        """Give a connection, now or as soon as it is made."""

    async def close(self) -> None:
        """Close every connection, wait for those being made."""


class ProxyService:
    """Passes requests on to one engine, or to one of several pools.

    Args:
        target: where the engine is, or what makes the connections to several.
        observer: what requests report to.
        limits: see `ProxyLimits`.
        route: how requests name the engine.
        request_usage: ask for usage on the client's behalf.
    """

    def __init__(
        self,
        target: EngineTarget | Callable[[ProxyLimits, SparseLog], Connections],
        observer: Observer,
        limits: ProxyLimits = ProxyLimits(),  # noqa: B008 - immutable
        *,
        route: Route = Route(),  # noqa: B008 - immutable
        request_usage: bool = False,
    ) -> None:
        self.limits = limits
        self.route = route
        self.stopping = False
        self._log = SparseLog(LOG, observer.clock)
        self.pool: Connections = (
            EnginePool(target, limits, self._log) if isinstance(target, EngineTarget) else target(limits, self._log)
        )
        self.leaves = LeaveWatch()
        self._observer = observer
        self._request_usage = request_usage
        self._listener: ClientListener | None = None
        self._grace: asyncio.Timeout | None = None
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
        if self._listener is not None:
            self._listener.left()
        if not self._clients:
            self._empty.set()

    def comes_back(self, client: Ends | None) -> bool:
        """Whether a client is the sidecar itself."""
        own = self.pool.is_own(client)
        if own:
            self._log.warn("loop", "--upstream leads back to the sidecar itself: requests go round in a circle")
        return own

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

    def start(self, listener: socket.socket) -> None:
        """Accept connections on a bound socket; it is closed by `stop`."""
        self._listener = ClientListener(listener, self.limits.clients, lambda: ClientConnection(self), self._log)
        self._listener.start()

    def hurry(self) -> None:
        """While it stops: do not wait for answers any longer."""
        if self._grace is not None:
            self._grace.reschedule(asyncio.get_running_loop().time())

    async def stop(self, grace_s: float) -> None:
        """Accept no more, let answers under way finish for so many seconds, then cut off what is left."""
        self.stopping = True
        if self._listener is not None:
            await self._listener.close()
        for client in tuple(self._clients):
            client.close_when_idle()
        if self._clients:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s) as self._grace:
                    await self._empty.wait()
            self._grace = None
        for client in tuple(self._clients):
            client.abort()
        if self._clients:
            await self._empty.wait()
        self.leaves.close()
        await self.pool.close()
