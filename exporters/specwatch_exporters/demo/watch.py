"""The watching half: a sidecar on any engine, and frames of its last few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from specwatch_exporters import catalog, derived
from specwatch_exporters.counts import Counts
from specwatch_exporters.demo.fallback import FallbackPart
from specwatch_exporters.demo.moment import Event, Moment
from specwatch_exporters.demo.request_rows import RequestRows
from specwatch_exporters.page import Key
from specwatch_exporters.report import ModelReport, State
from specwatch_exporters.sidecar.recent import Recent
from specwatch_exporters.sidecar.run import Sidecar
from specwatch_exporters.sidecar.snapshot import EngineView, Snapshot
from specwatch_exporters.sidecar.watcher import Judgement
from specwatch_exporters.summary import latencies
from specwatch_exporters.tallying import tally

WINDOW_S = 10.0
BASELINE_S = 15.0


class Watch:
    """Turns a sidecar's snapshots into frames.

    Args:
        sidecar: running.
        title: what is being watched.
        simulated: True for the replay engine.
        total_s: planned length, or None.
        requests: what the request sidecar sees, or None without one.
        fallback: what moves the traffic, or None.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        sidecar: Sidecar,
        title: str,
        *,
        simulated: bool,
        total_s: float | None,
        requests: RequestRows | None = None,
        fallback: FallbackPart | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sidecar = sidecar
        self._title = title
        self._simulated = simulated
        self._total_s = total_s
        self._requests = requests
        self._fallback = fallback
        self._clock = clock
        self._began = clock()
        self._recent = Recent(WINDOW_S)
        self._seen = 0.0
        self._restarts = 0
        self._lengths: list[float | None] = []
        self._waiting: list[float | None] = []
        self._baseline: tuple[float | None, ...] = ()
        self._baseline_length: float | None = None
        self._report: ModelReport | None = None
        self._told = ("", "")
        self.events: list[Event] = []

    @property
    def elapsed_s(self) -> float:
        """Seconds since the watch began."""
        return self._clock() - self._began

    def frame(self) -> Moment:
        """The present moment."""
        snapshot = self._sidecar.scraper.snapshot()
        view = snapshot.engine
        judgement = self._judgement()
        if self._fallback is not None:
            self.events += [Event(self.elapsed_s, one.text, one.alarming) for one in self._fallback.told()]
        if view is not None and snapshot.last_success != self._seen:
            self._seen = snapshot.last_success
            self._take(snapshot, view)
        increases = self._recent.increases()
        counts = Counts(increases, self._report.model if self._report is not None else "")
        generated = counts.total(catalog.GENERATION_TOKENS.name)
        span = self._recent.span_s()
        return Moment(
            elapsed_s=self.elapsed_s,
            total_s=self._total_s,
            title=self._title if self._report is None else self._report.model,
            simulated=self._simulated,
            engine=_engine_words(view),
            status_url=f"http://127.0.0.1:{self._sidecar.port}/",
            window_s=WINDOW_S,
            report=self._report,
            baseline=self._baseline,
            baseline_length=self._baseline_length,
            tokens_per_second=generated / span if generated is not None and span > 0 else None,
            token_latency_s=derived.token_latency(counts),
            lengths=tuple(self._lengths),
            waiting=tuple(self._waiting),
            classes=() if self._requests is None else self._requests.classes(),
            batches=() if self._requests is None else self._requests.batches(),
            events=tuple(self.events),
            notices=snapshot.notices,
            pools=() if self._requests is None else self._requests.pools(),
            fallback=None if self._fallback is None else self._fallback.now(),
            judgement=judgement,
            trouble="" if snapshot.success or not snapshot.cause else snapshot.message,
        )

    def _judgement(self) -> Judgement | None:
        """The verdict on the busiest model; a change of it is an event."""
        model = "" if self._report is None else self._report.model
        found = next((one for one in self._sidecar.status().judgements if one.model == model), None)
        if found is not None and (found.state, found.cause) != self._told:
            self._told = (found.state, found.cause)
            words = found.cause or found.headline
            self.events.append(
                Event(self.elapsed_s, f"verdict: {found.state}: {words}", alarming=found.state == "drifted")
            )
        return found

    def _take(self, snapshot: Snapshot, view: EngineView) -> None:
        self._recent.add(snapshot.last_success, view.totals)
        if self._requests is not None:
            self._requests.take(snapshot.last_success)
        if snapshot.restarts > self._restarts:
            self._restarts = snapshot.restarts
            self.events.append(Event(self.elapsed_s, "the engine restarted; totals carry on", alarming=True))
        increases = self._recent.increases()
        if not increases or not view.recent:
            return
        busiest = max(view.recent, key=lambda report: report.tally.drafts or 0.0)
        self._report = _windowed(busiest, view, increases)
        self._lengths.append(self._report.mean_acceptance_length)
        self._waiting.append(self._report.waiting)
        if not self._baseline and self.elapsed_s >= BASELINE_S and self._report.state is State.ACTIVE:
            self._baseline = self._report.tally.per_position
            self._baseline_length = self._report.mean_acceptance_length


def _windowed(report: ModelReport, view: EngineView, increases: dict[Key, float]) -> ModelReport:
    """The model's report with counts and latencies of the short window."""
    counts = Counts(increases, report.model)
    own = tally(counts)
    return ModelReport(
        model=report.model,
        state=report.state,
        engines=report.engines,
        tally=own,
        definition=view.definition,
        rate=report.rate,
        length=report.length if own.drafts is None else None,
        running=report.running,
        waiting=report.waiting,
        kv_cache_usage=report.kv_cache_usage,
        speculative_tokens=report.speculative_tokens,
        method=report.method,
        latencies=latencies(counts),
    )


def _engine_words(view: EngineView | None) -> str:
    if view is None:
        return "no page yet"
    return " ".join(filter(None, (view.kind, view.facts.version, f"({view.dialect})")))
