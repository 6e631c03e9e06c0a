"""Both sides of a sidecar without sockets: bytes in, bytes out."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from prometheus_client import CollectorRegistry

from specwatch_exporters.proxy.api_paths import Api
from specwatch_exporters.proxy.class_choice import ClassChoice
from specwatch_exporters.proxy.client_connection import ClientConnection
from specwatch_exporters.proxy.engine_connection import EngineConnection
from specwatch_exporters.proxy.engine_pool import EngineTarget
from specwatch_exporters.proxy.http_head import Headers, RequestHead, origin_form
from specwatch_exporters.proxy.in_flight import InFlight
from specwatch_exporters.proxy.observer import Observer
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.request_watch import RequestWatch
from specwatch_exporters.proxy.service import ProxyService
from specwatch_exporters.proxy.witness import GuardedWatch
from specwatch_exporters.request_metrics import RequestMetrics


class FakeTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        self.paused = False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class FakeEngine:
    """A connection to the engine and the request that it was given for."""

    def __init__(
        self, connection: EngineConnection, transport: FakeTransport, expected: tuple[bytes, bytes]
    ) -> None:
        self.connection = connection
        self.transport = transport
        self.expected = expected

    @property
    def written(self) -> bytes:
        return self.transport.written


class FakePool:
    """Gives a fresh connection to every exchange."""

    def __init__(self, wiring: Wiring) -> None:
        self.limits = wiring.limits
        self._wiring = wiring

    def request(self, applicant: Any) -> None:
        connection, transport = EngineConnection(self), FakeTransport()
        connection.connection_made(transport)
        head: RequestHead = applicant._head
        engine = FakeEngine(connection, transport, (head.method, origin_form(head.target)))
        self._wiring.engines.append(engine)
        applicant.engine_ready(connection)

    def give_back(self, connection: EngineConnection) -> None:
        connection.abort()

    def forget(self, connection: EngineConnection) -> None:
        """Nothing is kept."""

    def is_own(self, _client: object) -> bool:
        return False

    def trouble(self, _reason: str) -> None:
        """Nobody is told."""


class FakeLoopTimers:
    """Stands in for the running loop: timers never fire."""

    def call_later(self, *_: object) -> FakeLoopTimers:
        return self

    def time(self) -> float:
        return 0.0

    def cancel(self) -> None:
        """It would not have fired."""


class Wiring:
    """A client's connection, the service behind it, and every connection to the engine that it asked for.

    A context manager: inside it a loop runs whose timers never fire.
    """

    def __init__(self) -> None:
        self.limits = ProxyLimits()
        self.registry = CollectorRegistry()
        metrics = RequestMetrics(self.registry)
        self.now = 0.0
        self.observer = Observer(metrics, InFlight(self._clock), ClassChoice(), self._clock)
        self.service = ProxyService(EngineTarget("127.0.0.1", 1), self.observer, self.limits)
        self.engines: list[FakeEngine] = []
        self.service.pool = FakePool(self)  # type: ignore[assignment]  # all that an exchange uses
        self.transport = FakeTransport()
        self.client = ClientConnection(self.service)

    def __enter__(self) -> Self:
        asyncio._set_running_loop(FakeLoopTimers())  # type: ignore[arg-type]  # only `call_later` is used
        self.client.connection_made(self.transport)
        return self

    def __exit__(self, *_: object) -> None:
        """The client leaves."""
        self.client.connection_lost(None)
        asyncio._set_running_loop(None)

    def _clock(self) -> float:
        self.now += 0.01
        return self.now

    def watch(self, api: Api) -> GuardedWatch:
        head = RequestHead(b"POST", api.value.encode(), "1.1", Headers(), keep_alive=True)
        return GuardedWatch(self.observer, RequestWatch(api, head, self.observer))

    def unread(self, reason: str) -> float:
        return self.registry.get_sample_value("specwatch_request_unread_total", {"reason": reason}) or 0.0

    def assert_nothing_is_left(self) -> None:
        """Once the client has left, nothing is under way."""
        assert self.observer.in_flight.total == 0
        assert self.observer.batch.size == 0
        assert self.service.client_count == 0
