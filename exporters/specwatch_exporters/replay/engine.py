"""The replay engine as a server: one object that starts, stops, changes, restarts and fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.completions import Completions
from specwatch_exporters.replay.control import Control
from specwatch_exporters.replay.control_body import FaultOrder
from specwatch_exporters.replay.core import EngineCore
from specwatch_exporters.replay.fault_responses import FaultResponder
from specwatch_exporters.replay.faults import Fault, FaultBoard, FaultMode
from specwatch_exporters.replay.info_routes import InfoRoutes
from specwatch_exporters.replay.listener import Listener
from specwatch_exporters.replay.middlewares import error_bodies, failures, http_metrics
from specwatch_exporters.replay.settings import RESTARTING, ReplaySettings, merged
from specwatch_exporters.replay.state import state_of

LOGGER = logging.getLogger(__name__)
MOST_BODY_BYTES = 64 * 1024 * 1024


class ReplayEngine:
    """A speculative vLLM without a GPU, on loopback.

    Use it as an asynchronous context manager, or call `start` and `stop`.

    Args:
        settings: see `ReplaySettings`.
        host: address to listen on.
        port: port to listen on, 0 for any free one.
        clock: source of time.
    """

    def __init__(
        self,
        settings: ReplaySettings | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or Clock()
        self._host = host
        self._port = port
        self._restarts = 0
        self._faults = FaultBoard(self._clock)
        self._first_settings = settings or ReplaySettings()
        self._core: EngineCore | None = None
        self._runner: web.AppRunner | None = None
        self._listener: Listener | None = None
        self._stepping: asyncio.Task[None] | None = None
        self._reopening: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()

    @property
    def core(self) -> EngineCore:
        """The engine's current life.

        Raises:
            RuntimeError: before `start`.
        """
        if self._core is None:
            raise RuntimeError("the replay engine has not been started")
        return self._core

    @property
    def settings(self) -> ReplaySettings:
        """Settings in force."""
        return self._first_settings if self._core is None else self._core.settings

    @property
    def url(self) -> str:
        """Base address, without a slash at the end."""
        port = self._port if self._listener is None else self._listener.port
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{port}"

    async def start(self) -> None:
        """Listen and step.

        Raises:
            OSError: when the port is taken.
        """
        self._begin_life(self._first_settings)
        self._runner = web.AppRunner(
            self._application(), handler_cancellation=True, access_log=None, shutdown_timeout=1.0
        )
        await self._runner.setup()
        self._listener = Listener(self._runner, self._host, self._port)
        await self._listener.open()

    async def stop(self) -> None:
        """End everything; open connections are cut."""
        self._faults.clear()
        await self._end_tasks()
        self._cut_connections(None)
        if self._listener is not None:
            await self._listener.release()
            self._listener = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def configure(self, changes: Mapping[str, Any], keep: web.BaseRequest | None = None) -> bool:
        """Change settings, all or none.

        Acceptance is merged by class. Another method or profile drops acceptance, K and live K of the old one.

        Args:
            changes: fields of `ReplaySettings`.
            keep: request whose connection survives a restart.

        Returns:
            Whether it took a restart.

        Raises:
            ValueError: when the result would not be valid; nothing has changed then.
        """
        async with self._changing:
            settings = merged(self.settings, changes)
            if any(getattr(settings, name) != getattr(self.settings, name) for name in RESTARTING):
                await self._restart(0.0, keep, settings)
                return True
            self.core.reconfigure(settings)
            return False

    async def restart(self, down_s: float = 0.0, keep: web.BaseRequest | None = None) -> None:
        """End this life and begin the next: counters start again, connections are cut, failures end.

        Args:
            down_s: seconds during which connections are refused.
            keep: request whose connection survives, so that its caller gets an answer.
        """
        async with self._changing:
            await self._restart(down_s, keep, self.settings)

    async def fail(self, order: FaultOrder, keep: web.BaseRequest | None = None) -> None:
        """Begin a failure, or end all of them."""
        async with self._changing:
            if order.mode is None:
                self._faults.clear()
                return
            until = None if order.seconds is None else self._clock.monotonic() + order.seconds
            self._faults.put(Fault(order.mode, order.target, until, order.delay))
            if order.mode is FaultMode.REFUSE and order.seconds:
                self._cut_connections(keep)
                await self._stay_down(order.seconds)

    def state(self) -> dict[str, Any]:
        """What `/replay/state` shows."""
        return state_of(self.core, self._restarts, self._faults.active)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    def _application(self) -> web.Application:
        responder = FaultResponder(self._faults, self._clock)
        app = web.Application(
            middlewares=[
                http_metrics(lambda: self.core, self._clock),
                error_bodies(),
                failures(self._faults, responder),
            ],
            client_max_size=MOST_BODY_BYTES,
        )
        completions = Completions(lambda: self.core, responder, self._clock)
        info = InfoRoutes(lambda: self.core, self._alive)
        control = Control(self)
        app.router.add_post("/v1/completions", completions.completions)
        app.router.add_post("/v1/chat/completions", completions.chat_completions)
        app.router.add_get("/metrics", info.metrics)
        app.router.add_get("/health", info.health)
        app.router.add_get("/ping", info.health)
        app.router.add_get("/version", info.version)
        app.router.add_get("/v1/models", info.models)
        app.router.add_get("/replay/state", control.state)
        app.router.add_post("/replay/config", control.config)
        app.router.add_post("/replay/restart", control.restart)
        app.router.add_post("/replay/fail", control.fail)
        return app

    def _begin_life(self, settings: ReplaySettings) -> None:
        self._core = EngineCore(settings, self._clock, self._faults, self._restarts)
        self._stepping = asyncio.create_task(self._core.run(), name="replay-engine-steps")
        self._stepping.add_done_callback(partial(_after_death, self._core))

    async def _restart(self, down_s: float, keep: web.BaseRequest | None, settings: ReplaySettings) -> None:
        self._faults.clear()
        await self._end_tasks()
        self._cut_connections(keep)
        self._restarts += 1
        self._begin_life(settings)
        await self._stay_down(down_s)

    def _alive(self) -> bool:
        return self._stepping is not None and not self._stepping.done()

    async def _end_tasks(self) -> None:
        if self._core is not None:
            self._core.close()
        for task in (self._stepping, self._reopening):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._stepping = self._reopening = None

    async def _stay_down(self, seconds: float) -> None:
        if self._listener is None:
            return
        if seconds <= 0:
            await self._listener.open()
            return
        if self._reopening is not None:
            self._reopening.cancel()
        await self._listener.close()
        self._reopening = asyncio.create_task(self._reopen_after(seconds), name="replay-engine-reopen")

    async def _reopen_after(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._listener is not None:
            await self._listener.open()

    def _cut_connections(self, keep: web.BaseRequest | None) -> None:
        kept = None if keep is None else keep.transport
        server = None if self._runner is None else self._runner.server
        for connection in [] if server is None else list(server.connections):
            transport = connection.transport
            if transport is not None and transport is not kept:
                transport.abort()


def _after_death(core: EngineCore, task: asyncio.Task[None]) -> None:
    """A step loop that failed takes its requests with it; `/health` then says 503."""
    if not task.cancelled() and task.exception() is not None:
        LOGGER.error("the replay engine's step loop died", exc_info=task.exception())
        core.close()
