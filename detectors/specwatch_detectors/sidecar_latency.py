"""Per-token latency and queue wait of one model, judged from what a scrape sidecar reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specwatch_detectors.kept_part import left_out, restored
from specwatch_detectors.latency_cusum import Times
from specwatch_detectors.latency_monitor import LatencyMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.queue_wait_monitor import QueueWaitMonitor
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_exporters import catalog, derived
from specwatch_exporters.counts import Counts
from specwatch_exporters.report import ModelReport
from specwatch_exporters.request_labels import batch_label
from specwatch_exporters.sidecar.watcher import Interval

INTER_TOKEN: Final = "inter_token"  # noqa: S105 - a signal's name
QUEUE_WAIT: Final = "queue_wait"


@dataclass(frozen=True, slots=True)
class SignalReading:
    """State of one signal.

    Attributes:
        signal: `inter_token` or `queue_wait`.
        state: ok, watch, drifted or cannot_tell.
        reason: in one sentence.
        score: evidence over threshold, or None.
        alarms: so far.
    """

    signal: str
    state: DriftState
    reason: str
    score: float | None
    alarms: int


class SidecarLatency:
    """Watches both signals of one model.

    The batch of an interval is the mean of the running requests at its two ends, per engine.

    Args:
        settings: budget and limits.
        state: what `state` of a predecessor gave; a part that cannot be read is left out.
        model: its name, for the log.
    """

    def __init__(self, settings: MonitorSettings, state: object = None, *, model: str = "") -> None:
        kept: Mapping[str, Any] = state if isinstance(state, Mapping) else {}
        if state is not None and not isinstance(state, Mapping):
            left_out(f"{model}, latency", "it is no JSON object")
        self._latency = restored(
            f"{model}, {INTER_TOKEN}", kept.get(INTER_TOKEN), lambda own: LatencyMonitor(settings, state=own)
        ) or LatencyMonitor(settings)
        self._wait = restored(
            f"{model}, {QUEUE_WAIT}", kept.get(QUEUE_WAIT), lambda own: QueueWaitMonitor(settings, state=own)
        ) or QueueWaitMonitor(settings)
        self._running: float | None = None

    def take(
        self, report: ModelReport, interval: Interval, now: float, acceptance: Reading, changes: Iterable[Change]
    ) -> None:
        """One scrape.

        Args:
            report: the model as known now.
            interval: the scrape.
            now: its end on the clock of the monitors.
            acceptance: verdict on the draft, for the words.
            changes: of the engine since the last scrape.
        """
        for change in changes:
            self._latency.changed(change, now)
        running = None if report.running is None else report.running / max(1, report.engines)
        before, self._running = self._running, running
        counts = Counts(interval.increases, report.model)
        if running is not None and before is not None:
            self._latency.update(_times(counts, (before + running) / 2.0), now, acceptance)
        self._wait.update(counts.buckets(catalog.QUEUE_WAIT.name), now)

    def readings(self, now: float, acceptance: Reading) -> tuple[SignalReading, ...]:
        """Both signals at a time."""
        slow, waits = self._latency.reading(now, acceptance), self._wait.reading(now)
        return (
            SignalReading(INTER_TOKEN, slow.state, slow.reason, slow.score, slow.alarms),
            SignalReading(QUEUE_WAIT, waits.state, waits.reason, waits.score, waits.alarms),
        )

    def accept(self) -> None:
        """Somebody says that the present latency and waits are as they should be: learn them again."""
        self._latency.accept()
        self._wait.accept()

    def state(self) -> dict[str, Any]:
        """Both monitors, as JSON."""
        return {INTER_TOKEN: self._latency.state(), QUEUE_WAIT: self._wait.state()}


def _times(counts: Counts, batch: float) -> dict[str, Times]:
    mean = derived.token_latency(counts)
    tokens = counts.total(catalog.GENERATION_TOKENS.name)
    if mean is None or not tokens or batch <= 0.0:
        return {}
    return {batch_label(max(1.0, batch)): Times(mean * tokens, tokens)}
