"""A replay engine in a thread of its own, for callers that are not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from specwatch_exporters.replay.clock import Clock
from specwatch_exporters.replay.control_body import fault_order
from specwatch_exporters.replay.engine import ReplayEngine
from specwatch_exporters.replay.settings import ReplaySettings

Result = TypeVar("Result")
CALL_TIMEOUT = 60.0


class ReplayThread:
    """Starts and stops a `ReplayEngine`; a context manager too.

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
        self._make: Callable[[], ReplayEngine] = partial(ReplayEngine, settings, host=host, port=port, clock=clock)
        self._engine: ReplayEngine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._main, name="replay-engine", daemon=True)

    @property
    def engine(self) -> ReplayEngine:
        """The engine; touch it only through `call`.

        Raises:
            RuntimeError: before `start`.
        """
        if self._engine is None:
            raise RuntimeError("the replay engine has not been started")
        return self._engine

    @property
    def url(self) -> str:
        """Base address, without a slash at the end."""
        return self.engine.url

    def start(self) -> Self:
        """Start and wait until it listens.

        Raises:
            OSError: when the port is taken.
        """
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def stop(self) -> None:
        """Stop and wait until nothing is left; safe to call twice."""
        loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None and self._thread.is_alive():
            loop.call_soon_threadsafe(stopping.set)
            self._thread.join()

    def call(self, function: Callable[[ReplayEngine], Awaitable[Result]]) -> Result:
        """Run a coroutine function on the engine, in its thread, and return its result."""
        if self._loop is None:
            raise RuntimeError("the replay engine has not been started")

        async def run() -> Result:
            return await function(self.engine)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(CALL_TIMEOUT)

    def configure(self, **changes: Any) -> bool:
        """Change settings by field name; True when it took a restart.

        Raises:
            ValueError: when the result would not be valid.
        """
        return self.call(lambda engine: engine.configure(changes))

    def restart(self, down_s: float = 0.0) -> None:
        """Begin a new life, refusing connections for `down_s` seconds first."""
        self.call(lambda engine: engine.restart(down_s))

    def fail(self, **order: Any) -> None:
        """Begin or end a failure; the same keys as `/replay/fail`.

        Raises:
            ValueError: when the order is not valid.
        """
        checked = fault_order(order)
        self.call(lambda engine: engine.fail(checked))

    def state(self) -> dict[str, Any]:
        """What `/replay/state` shows."""

        async def read(engine: ReplayEngine) -> dict[str, Any]:
            return engine.state()

        return self.call(read)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _main(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # noqa: BLE001 (handed to the starter)
            self._failure = error
        finally:
            self._ready.set()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._engine = self._make()
        async with self._engine:
            self._ready.set()
            await self._stopping.wait()
