"""The simulated half of the demonstration: two engines, a request sidecar, traffic, the acts of the scenario."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry

from specwatch_exporters.demo.moment import Event
from specwatch_exporters.demo.scenario import ACTS, FALLBACK, RATE, SETTINGS
from specwatch_exporters.demo.traffic import Traffic
from specwatch_exporters.demo.traffic_plan import Lengths, TrafficPlan
from specwatch_exporters.proxy.run import RequestSidecar
from specwatch_exporters.proxy.settings import load
from specwatch_exporters.replay.thread import ReplayThread


class Stage:
    """A drafter's and an n-gram engine as pools of a request sidecar under load; nothing is left running.

    Args:
        total_s: length of the demonstration; acts happen at shares of it.
    """

    def __init__(self, total_s: float) -> None:
        self._total_s = total_s
        self._engine = ReplayThread(SETTINGS)
        self._fallback = ReplayThread(FALLBACK)
        self._folder = TemporaryDirectory(prefix="specwatch-demo-")
        self._proxy: RequestSidecar | None = None
        self._pending = list(ACTS)
        self._traffic: Traffic | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._make_load, name="demo-traffic", daemon=True)

    @property
    def url(self) -> str:
        """The engine's address."""
        return self._engine.url

    @property
    def fallback_url(self) -> str:
        """Address of the n-gram engine."""
        return self._fallback.url

    @property
    def folder(self) -> Path:
        """A folder that is gone afterwards."""
        return Path(self._folder.name)

    @property
    def token_file(self) -> Path:
        """Token of those who may set the weights of the pools."""
        return self.folder / "token"

    @property
    def admin_url(self) -> str:
        """Address of the request sidecar's own pages."""
        return f"http://127.0.0.1:{self._running.admin_port}"

    @property
    def engine(self) -> ReplayThread:
        """The simulated engine."""
        return self._engine

    def change_mix(self, mix: Mapping[str, float]) -> None:
        """Draw traffic classes with other weights from now on."""
        if self._loop is not None and self._traffic is not None:
            self._loop.call_soon_threadsafe(partial(self._traffic.change, mix=mix))

    @property
    def registry(self) -> CollectorRegistry:
        """Metrics of the request sidecar.

        Raises:
            RuntimeError: before it has started.
        """
        return self._running.registry

    @property
    def _running(self) -> RequestSidecar:
        if self._proxy is None:
            raise RuntimeError("the stage has not been entered")
        return self._proxy

    def play(self, elapsed_s: float) -> list[Event]:
        """Apply the acts that are due; returns what happened."""
        happened = []
        while self._pending and elapsed_s >= self._pending[0].share * self._total_s:
            act = self._pending.pop(0)
            act.apply(self)
            happened.append(Event(elapsed_s, act.text, act.alarming))
        return happened

    def __enter__(self) -> Self:
        self._engine.start()
        self._fallback.start()
        self.token_file.write_text(token_hex(16))
        listen = {"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0"}
        upstream = f"{SETTINGS.method}={self.url} {FALLBACK.method}={self.fallback_url}"
        settings = load({"upstream": upstream, "admin_token_file": str(self.token_file), **listen}, environ={})
        self._proxy = RequestSidecar(settings)
        self._proxy.start()
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._traffic is not None:
            self._loop.call_soon_threadsafe(self._traffic.stop)
        self._thread.join()
        if self._proxy is not None:
            self._proxy.stop()
        self._fallback.stop()
        self._engine.stop()
        self._folder.cleanup()

    def _make_load(self) -> None:
        plan = TrafficPlan(
            url=f"http://127.0.0.1:{self._running.port}",
            rate=RATE,
            prompt=Lengths(256, sigma=0.4),
            output=Lengths(180, sigma=0.4),
            seconds=self._total_s + 3600.0,
        )
        asyncio.run(self._run(Traffic(plan)))

    async def _run(self, traffic: Traffic) -> None:
        self._loop, self._traffic = asyncio.get_running_loop(), traffic
        self._ready.set()
        await traffic.run()
