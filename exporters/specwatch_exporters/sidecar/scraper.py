"""The scrape: fetch, read, keep the books, and publish a snapshot."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from specwatch_exporters import catalog, derived
from specwatch_exporters.bounds import MAX_MODELS, bound
from specwatch_exporters.counts import Counts
from specwatch_exporters.engines.registry import read_page
from specwatch_exporters.engines.trtllm_iterations import is_iterations, note_gap, read_iterations
from specwatch_exporters.exposition import ExpositionError, parse
from specwatch_exporters.json_text import decode
from specwatch_exporters.ledger import Ledger
from specwatch_exporters.notices import Notice
from specwatch_exporters.page import Key, Page
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.sidecar.declaration import Declaration
from specwatch_exporters.sidecar.fetch import Fetched
from specwatch_exporters.sidecar.fetch_error import Cause, FetchError
from specwatch_exporters.sidecar.recent import WINDOW_S, Recent
from specwatch_exporters.sidecar.snapshot import EngineView, Snapshot
from specwatch_exporters.sidecar.version_probe import EngineFacts
from specwatch_exporters.sidecar.watcher import Interval, NoWatcher, Watcher
from specwatch_exporters.summary import build_models

LOG = logging.getLogger("specwatch.scrape")
OUTCOMES = ("success", *(cause.value for cause in Cause), "malformed", "no_engine", "internal")
HISTORY_S = 600.0
_LIFE = frozenset({catalog.DRAFTS.name, catalog.GENERATION_TOKENS.name})
PROBE_EVERY_S = 300.0
PROBE_AGAIN_S = 30.0


class ScrapeError(Exception):
    """A fetched body is of no use.

    Attributes:
        cause: one of `OUTCOMES`.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Scraper:
    """Scrapes one engine; `scrape()` is called by one thread, `snapshot()` by any.

    Args:
        fetch: returns the engine's page or raises FetchError.
        probe: asks the engine for its version and speculation, given its kind; never raises.
        declaration: what the operator declared.
        engine: reader to use instead of recognising the page.
        max_models: models kept per page.
        watcher: judges what was read.
        window_s: span of the figures of "the last minute", seconds.
        clock: monotonic seconds.
        wall: seconds since the epoch.
    """

    def __init__(
        self,
        fetch: Callable[[], Fetched],
        probe: Callable[[str], EngineFacts],
        *,
        declaration: Declaration | None = None,
        engine: str | None = None,
        max_models: int = MAX_MODELS,
        watcher: Watcher | None = None,
        window_s: float = WINDOW_S,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._fetch = fetch
        self._probe = probe
        self._declaration = declaration or Declaration()
        self._engine = engine
        self._max_models = max_models
        self._watcher = watcher or NoWatcher()
        self._clock = clock
        self._wall = wall
        self._ledger = Ledger()
        self._recent = Recent(window_s)
        self._history: deque[tuple[float, float | None, float | None]] = deque()
        self._outcomes: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
        self._facts = EngineFacts()
        self._next_probe = 0.0
        self._restarted = False
        self._last_iteration: int | None = None
        self._lock = threading.Lock()
        self._snapshot = Snapshot(
            engine=None, last_success=clock(), success=False, cause="", message="", outcomes=dict(self._outcomes)
        )

    def snapshot(self) -> Snapshot:
        """The state after the last scrape."""
        with self._lock:
            return self._snapshot

    def scrape(self) -> bool:
        """Scrape once; True if the page was understood. Never raises: every failure becomes a metric."""
        began = self._clock()
        try:
            fetched = self._fetch()
            page = self._read(fetched)
            view, notices = self._absorb(page)
        except FetchError as error:
            return self._failed(began, error.cause.value, error.message)
        except ScrapeError as error:
            return self._failed(began, error.cause, str(error))
        except Exception as error:
            if self.snapshot().cause != "internal":
                LOG.exception("internal error while reading the page")
            return self._failed(began, "internal", f"internal error: {type(error).__name__}; see the log")
        self._succeeded(began, fetched, view, notices)
        self._probe_if_due(view.kind)
        return True

    def _read(self, fetched: Fetched) -> Page:
        text = fetched.body.decode("utf-8", errors="replace")
        body = decode(text) if text.lstrip().startswith("[") else None
        if body is not None and is_iterations(body):
            page = read_iterations(body)
            self._last_iteration = note_gap(page, body, self._last_iteration)
            return page
        try:
            exposition = parse(text, fetched.content_type)
            page = read_page(exposition, self._engine)
        except ExpositionError as error:
            raise ScrapeError("malformed", str(error)) from error
        cut = next((notice for notice in page.notices if notice.code == "page_truncated"), None)
        if cut is not None and not fetched.framed:
            raise ScrapeError(Cause.TRUNCATED.value, cut.message)
        if page.engine is None:
            raise ScrapeError("no_engine", " ".join(notice.message for notice in page.notices))
        return page

    def _absorb(self, page: Page) -> tuple[EngineView, tuple[Notice, ...]]:
        self._declaration.name_model(page)
        bound(page, self._max_models)
        first, restarts = self._ledger.pages == 0, self._ledger.restarts
        increase = self._ledger.update(page)
        for series in increase.held:
            page.note("sum_decreased", f"{series.metric} went down without a restart; its mean is unknown.")
        self._restarted = self._ledger.restarts > restarts
        if self._restarted:
            LOG.warning("the engine restarted; totals carry on (%d restarts so far)", self._ledger.restarts)
            self._facts = EngineFacts()
        self._declaration.apply(page, self._facts)
        now = self._clock()
        self._recent.add(now, self._ledger.current)
        increases = self._recent.increases()
        recent = build_models(page, increases) if increases else _first_look(page, self._ledger.current)
        self._remember(now, recent)
        self._watcher.take(
            Interval(
                now=now,
                wall=self._wall(),
                increases={} if first else increase.by_key,
                reports=tuple(recent),
                restarted=self._restarted,
                version=self._facts.version,
                starts=dict(page.starts),
                counted=_counted(page),
            )
        )
        view = EngineView(
            kind=page.engine or "",
            dialect=page.dialect,
            definition=page.definition,
            totals=dict(self._ledger.current),
            gauges=page.gauges,
            recent=tuple(recent),
            derived=_derive(recent, increases),
            facts=self._facts,
        )
        return view, tuple(sorted(page.notices))

    def _probe_if_due(self, kind: str) -> None:
        """Ask the engine now and then, once its page is published; what it said holds until it restarts."""
        if not self._restarted and self._clock() < self._next_probe:
            return
        facts = self._probe(kind)
        answered = facts != EngineFacts()
        self._facts = facts if answered else self._facts
        self._next_probe = self._clock() + (PROBE_EVERY_S if answered else PROBE_AGAIN_S)
        before = self.snapshot()
        if answered and before.engine is not None:
            self._publish(replace(before, engine=replace(before.engine, facts=facts)))

    def _remember(self, now: float, recent: Iterable[ModelReport]) -> None:
        models = list(recent)
        busiest = max(models, key=lambda report: report.tally.drafts or 0.0, default=None)
        length = busiest.mean_acceptance_length if busiest and busiest.state is State.ACTIVE else None
        known = [report.waiting for report in models if report.waiting is not None]
        self._history.append((now, length, sum(known) if known else None))
        while self._history[0][0] < now - HISTORY_S:
            self._history.popleft()

    def _succeeded(self, began: float, fetched: Fetched, view: EngineView, notices: tuple[Notice, ...]) -> None:
        self._outcomes["success"] += 1
        before = self.snapshot()
        if not before.success:
            LOG.info("engine %s (%s) is being read: %d bytes", view.kind, view.dialect, len(fetched.body))
        for code in sorted({notice.code for notice in notices} - {notice.code for notice in before.notices}):
            LOG.warning("%s: %s", code, next(notice.message for notice in notices if notice.code == code))
        now = self._clock()
        self._publish(
            Snapshot(
                engine=view,
                last_success=now,
                success=True,
                cause="",
                message="",
                outcomes=dict(self._outcomes),
                duration_s=now - began,
                page_bytes=len(fetched.body),
                restarts=self._ledger.restarts,
                notices=notices,
                history=tuple(self._history),
            )
        )

    def _failed(self, began: float, cause: str, message: str) -> bool:
        self._outcomes[cause] += 1
        before = self.snapshot()
        if before.cause != cause:
            LOG.warning("scrape failed, %s: %s", cause, message)
        self._publish(
            replace(
                before,
                success=False,
                cause=cause,
                message=message,
                outcomes=dict(self._outcomes),
                duration_s=self._clock() - began,
            )
        )
        return False

    def _publish(self, snapshot: Snapshot) -> None:
        with self._lock:
            self._snapshot = snapshot


def _first_look(page: Page, totals: Mapping[Key, float]) -> list[ModelReport]:
    """Reports of a first page: nothing is known of the last minute, and a lifetime is not a minute."""
    reports = build_models(page, dict.fromkeys(totals, 0.0))
    page.notices = [notice for notice in page.notices if notice.code != "no_tokens_yet"]
    return reports


def _counted(page: Page) -> dict[Key, float]:
    """What the engine itself has counted of drafts and generated tokens, by series."""
    found: dict[Key, float] = {}
    for series, value in {} if page.drained else page.counters.items():
        if series.metric in _LIFE:
            key = Key(series.metric, series.model, series.engine, series.extra)
            found[key] = found.get(key, 0.0) + value
    return found


def _derive(recent: Iterable[ModelReport], increases: Mapping[Key, float]) -> dict[str, dict[str, float]]:
    """Figures of the last minute per model, by catalogue name; unknown ones are missing."""
    found: dict[str, dict[str, float]] = {}
    by_model = Counts.by_model(increases)
    for report in recent:
        counts = by_model.get(report.model)
        if counts is None or (report.state is not State.ACTIVE and report.tally.drafts is None):
            continue  # a gauge keeps its last value when the engine falls silent
        values = {
            catalog.ACCEPTANCE_RATIO.name: report.acceptance_rate,
            catalog.ACCEPTANCE_LENGTH.name: report.mean_acceptance_length,
            catalog.TOKENS_PER_STEP.name: derived.tokens_per_step(counts),
            catalog.TOKEN_LATENCY.name: derived.token_latency(counts),
            catalog.SPECULATING_RATIO.name: derived.speculating_share(counts),
        }
        found[report.model] = {name: value for name, value in values.items() if value is not None}
    return found
