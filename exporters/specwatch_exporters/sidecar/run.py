"""The sidecar put together: settings in, a scrape loop and a server out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from importlib.metadata import version as package_version
from typing import Self

from prometheus_client import CollectorRegistry

from specwatch_exporters import catalog
from specwatch_exporters.sidecar.collector import SidecarCollector
from specwatch_exporters.sidecar.declaration import Declaration
from specwatch_exporters.sidecar.fetch import Fetched, fetch
from specwatch_exporters.sidecar.recent import window_of
from specwatch_exporters.sidecar.scraper import Scraper
from specwatch_exporters.sidecar.server import RunningServer, serve
from specwatch_exporters.sidecar.settings import SidecarSettings
from specwatch_exporters.sidecar.snapshot import EngineView, Snapshot
from specwatch_exporters.sidecar.status import EngineStatus, HistoryPoint, ModelStatus, ScrapeStatus, Status
from specwatch_exporters.sidecar.tls_trust import TlsTrust
from specwatch_exporters.sidecar.version_probe import EngineFacts, probe
from specwatch_exporters.sidecar.watcher import NoWatcher, Watcher


class Sidecar:
    """One engine's scrape sidecar.

    Args:
        settings: validated settings.
        clock: monotonic seconds.
        watcher: judges what is read, for the metrics and the status page.

    Use as a context manager, or call `start` and `stop`.
    """

    def __init__(
        self,
        settings: SidecarSettings,
        clock: Callable[[], float] = time.monotonic,
        watcher: Watcher | None = None,
    ) -> None:
        self._settings = settings
        self._watcher = watcher or NoWatcher()
        self._clock = clock
        self._version = package_version("specwatch")
        self._tls = TlsTrust(settings.ca_file, insecure=settings.insecure)
        self.scraper = Scraper(
            self._fetch_page,
            self._probe,
            declaration=Declaration(settings.speculation_method, settings.num_speculative_tokens, settings.model),
            engine=settings.engine_kind,
            max_models=settings.max_models,
            watcher=self._watcher,
            window_s=window_of(settings.interval_s),
            clock=clock,
        )
        self.registry = CollectorRegistry()
        collector = SidecarCollector(
            self.scraper.snapshot, settings.stale_after_s, self._version, clock, self._watcher
        )
        self.registry.register(collector)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._server: RunningServer | None = None

    @property
    def port(self) -> int:
        """Port that the sidecar listens on.

        Raises:
            RuntimeError: it is not running.
        """
        if self._server is None:
            raise RuntimeError("the sidecar is not running")
        return self._server.port

    def start(self) -> None:
        """Listen, then scrape in the background.

        Raises:
            OSError: the address cannot be listened on.
        """
        self._server = serve(self._settings.listen, self.registry, self.status, self.ready)
        self._thread = threading.Thread(target=self._loop, name="specwatch-scrape", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop scraping and listening; waits for a scrape in progress."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._server is not None:
            self._server.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _loop(self) -> None:
        """Scrape on a fixed grid; a scrape that overruns skips the ticks that it missed."""
        interval = self._settings.interval_s
        due = self._clock()
        while not self._stop.is_set():
            self.scraper.scrape()
            now = self._clock()
            due += interval * max(1.0, -(-(now - due) // interval))
            self._stop.wait(max(0.0, due - now))

    def _fetch_page(self) -> Fetched:
        return self._fetch(self._settings.engine.metrics_url)

    def _fetch(self, url: str) -> Fetched:
        return fetch(
            url,
            timeout_s=self._settings.timeout_s,
            token_file=self._settings.bearer_token_file,
            tls=self._tls,
        )

    def _probe(self, kind: str) -> EngineFacts:
        return probe(self._settings.engine.base_url, kind, self._fetch)

    def ready(self) -> tuple[bool, str]:
        """Whether there is a fresh page, and if not why."""
        snapshot = self.scraper.snapshot()
        age = self._clock() - snapshot.last_success
        if snapshot.engine is None:
            return False, snapshot.message or "no scrape has finished yet"
        if age > self._settings.stale_after_s:
            return False, f"the last good page is {age:.0f} s old: {snapshot.message}"
        return True, "ready"

    def status(self) -> Status:
        """What the status page shows now."""
        snapshot = self.scraper.snapshot()
        now = self._clock()
        return Status(
            version=self._version,
            scrape=self._scrape_status(snapshot, now),
            engine=_engine_status(self._settings.engine.display, snapshot),
            models=() if snapshot.engine is None else _model_statuses(snapshot.engine),
            notices=snapshot.notices,
            history=tuple(HistoryPoint(now - at, length, waiting) for at, length, waiting in snapshot.history),
            judgements=self._watcher.judgements(now),
        )

    def _scrape_status(self, snapshot: Snapshot, now: float) -> ScrapeStatus:
        return ScrapeStatus(
            success=snapshot.success,
            seen=snapshot.engine is not None,
            age_s=now - snapshot.last_success,
            interval_s=self._settings.interval_s,
            stale_after_s=self._settings.stale_after_s,
            cause=snapshot.cause,
            message=snapshot.message,
            duration_s=snapshot.duration_s,
            page_bytes=snapshot.page_bytes,
        )


def _engine_status(address: str, snapshot: Snapshot) -> EngineStatus:
    view = snapshot.engine
    if view is None:
        return EngineStatus(address)
    return EngineStatus(
        address, view.kind, view.dialect, view.facts.version, view.facts.draft_model, snapshot.restarts
    )


def _model_statuses(view: EngineView) -> tuple[ModelStatus, ...]:
    found = []
    for report in view.recent:
        values = view.derived.get(report.model, {})
        found.append(
            ModelStatus(
                report,
                tokens_per_step=values.get(catalog.TOKENS_PER_STEP.name),
                token_latency_s=values.get(catalog.TOKEN_LATENCY.name),
                speculating_share=values.get(catalog.SPECULATING_RATIO.name),
            )
        )
    return tuple(found)
