"""The request sidecar put together: settings in, a data path and an admin server out."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version as package_version
from typing import Self

from prometheus_client import CollectorRegistry, Gauge

from specwatch_exporters import catalog
from specwatch_exporters.proxy.admin_site import admin_site
from specwatch_exporters.proxy.class_choice import ClassChoice
from specwatch_exporters.proxy.class_rules import RulesError, promised_classes
from specwatch_exporters.proxy.descriptor_limit import current_client_room
from specwatch_exporters.proxy.engine_pool import EngineTarget
from specwatch_exporters.proxy.event_loop import new_event_loop
from specwatch_exporters.proxy.in_flight import InFlight
from specwatch_exporters.proxy.observer import Observer
from specwatch_exporters.proxy.pool_set import PoolSet, route_to
from specwatch_exporters.proxy.proxy_limits import ProxyLimits
from specwatch_exporters.proxy.read_later import ReadLater
from specwatch_exporters.proxy.service import ProxyService
from specwatch_exporters.proxy.settings import ProxySettings
from specwatch_exporters.proxy.upstreams import Upstream
from specwatch_exporters.request_labels import UNKNOWN, RequestLimits, model_label
from specwatch_exporters.request_metrics import RequestMetrics
from specwatch_exporters.sidecar.server import RunningServer, bind, serve_site
from specwatch_exporters.sidecar.settings import SettingsError


class RequestSidecar:
    """A request sidecar in front of one engine or of several pools.

    The data path runs in a thread with an event loop of its own.

    Args:
        settings: validated settings.
        limits: of the data path; the body limit comes from the settings.
        clock: monotonic seconds.

    Use as a context manager, or call `start` and `stop`.

    Raises:
        SettingsError: rules and classifier have more classes than there are places, or the file of the pools'
            weights cannot be read.
    """

    def __init__(
        self,
        settings: ProxySettings,
        limits: ProxyLimits = ProxyLimits(),  # noqa: B008 - immutable
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._version = package_version("specwatch")
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="specwatch-classes")
        self.registry = CollectorRegistry()
        build = catalog.BUILD_INFO
        Gauge(build.name, build.help, build.labels, registry=self.registry).labels(self._version).set(1)
        self._observer = self._new_observer(limits, clock)
        self._pools = PoolSet(settings, self.registry, self._tls()) if settings.pools else None
        clients = settings.max_connections or current_client_room()
        self.service = self._new_service(limits._replace(body_bytes=settings.max_body, clients=clients))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._admin: RunningServer | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """Port that clients connect to, once it has been started."""
        return self._port

    @property
    def admin_port(self) -> int:
        """Port of the metrics.

        Raises:
            RuntimeError: it is not running.
        """
        if self._admin is None:
            raise RuntimeError("the request sidecar is not running")
        return self._admin.port

    def start(self) -> None:
        """Listen on both ports and pass requests on in the background.

        Raises:
            OSError: an address cannot be listened on.
        """
        listener = bind(self._settings.listen)
        self._port = int(listener.getsockname()[1])
        page = None if self._pools is None else self._pools.page
        site = admin_site(self.registry, self._settings.display, self._version, self.ready, page)
        try:
            self._admin = serve_site(self._settings.admin_listen, site)
        except OSError:
            listener.close()
            raise
        loop = self._loop = new_event_loop()
        self._stopping = asyncio.Event()
        started = threading.Event()
        self._thread = threading.Thread(
            target=_run, args=(loop, self._live(listener, started)), name="specwatch-proxy", daemon=True
        )
        self._thread.start()
        started.wait()

    def stop(self) -> None:
        """Let answers under way finish for as long as the settings allow, then close everything."""
        loop, stopping, thread = self._loop, self._stopping, self._thread
        if loop is not None and stopping is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(stopping.set)
            thread.join()
        if self._admin is not None:
            self._admin.close()

    def hurry(self) -> None:
        """While `stop` waits in another thread or below: cut off the answers that it waits for."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has closed meanwhile
                self._loop.call_soon_threadsafe(self.service.hurry)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ready(self) -> tuple[bool, str]:
        """Whether requests are passed on, and if not why."""
        if self._thread is None or not self._thread.is_alive():
            return False, "the data path is not running"
        return (False, "the sidecar is stopping") if self.service.stopping else (True, "ready")

    async def _live(self, listener: socket.socket, started: threading.Event) -> None:
        try:
            self.service.start(listener)
        finally:
            started.set()
        if self._stopping is not None:
            await self._stopping.wait()
        await self.service.stop(self._settings.drain_s)
        self._executor.shutdown(cancel_futures=True)  # while the loop still takes its answers
        await asyncio.sleep(0)

    def _new_observer(self, limits: ProxyLimits, clock: Callable[[], float]) -> Observer:
        settings = self._settings
        try:
            reserved = promised_classes(settings.rules, settings.classes)
        except RulesError as error:
            raise SettingsError(f"--class-rules, --classifier: {error}") from None
        metrics = RequestMetrics(self.registry, RequestLimits(), reserved)
        in_flight = InFlight(clock)
        self.registry.register(in_flight)
        classes = ClassChoice(
            settings.rules, settings.classifier, self._executor, lambda: metrics.unread("classifier_busy")
        )
        return Observer(
            metrics,
            in_flight,
            classes,
            clock,
            speculation=settings.speculation_method or UNKNOWN,
            model=model_label(settings.model),
            read_limit=limits.read_bytes,
            later=ReadLater(),
        )

    def _new_service(self, limits: ProxyLimits) -> ProxyService:
        settings = self._settings
        only = Upstream("", settings.upstream, None, 1.0)
        target = EngineTarget(settings.upstream.host, settings.upstream.port, self._tls())
        return ProxyService(
            target if self._pools is None else self._pools.connections,
            self._observer,
            limits,
            route=route_to(only, rewrite_host=settings.rewrite_host),
            request_usage=settings.request_usage,
        )

    def _tls(self) -> ssl.SSLContext | None:
        if all(endpoint.scheme != "https" for endpoint in self._settings.endpoints):
            return None
        context = ssl.create_default_context(cafile=self._settings.ca_file)
        if self._settings.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _run(loop: asyncio.AbstractEventLoop, life: Coroutine[None, None, None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(life)
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
