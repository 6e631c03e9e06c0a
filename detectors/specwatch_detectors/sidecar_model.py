"""One model of a scrape sidecar: its monitors, what changed about its engine, and the words for both."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from specwatch_detectors.change_watch import ChangeWatch
from specwatch_detectors.kept_part import restored
from specwatch_detectors.model_monitor import Calibration, ModelMonitor, ModelReading
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.recent_windows import RecentWindows
from specwatch_detectors.sidecar_latency import SidecarLatency
from specwatch_detectors.sidecar_payoff import SidecarPayoff
from specwatch_detectors.sidecar_view import Present
from specwatch_detectors.sidecar_words import AGAIN_S, UNNAMED_AGAIN_S, Words, wants_explanation
from specwatch_detectors.window import Window
from specwatch_exporters.report import ModelReport
from specwatch_exporters.sidecar.watcher import Interval

LOG = logging.getLogger("specwatch.drift")
MAX_EVENTS: Final = 20


class SidecarModel:
    """Judges one model.

    Args:
        report: the model as first read.
        settings: budget and limits.
        calibrations: what a profile knows of it, by traffic class.
        steps: step-time profile by which to judge whether speculation pays, or None.
        kept: what `state` of a predecessor gave, or nothing; a part that cannot be read is left out.
    """

    def __init__(
        self,
        report: ModelReport,
        settings: MonitorSettings,
        calibrations: Mapping[str, Calibration],
        steps: StepProfile | None,
        kept: Mapping[str, Any],
    ) -> None:
        self.name = report.model
        self.reported = 0.0
        """When it was last on the engine's page; seconds on the clock of the monitors."""
        self._settings = settings
        self._monitor = _monitor(report, settings, calibrations, kept.get("drift"))
        self._payoff = SidecarPayoff(
            report,
            steps,
            half_life_s=settings.payoff_half_life_s,
            stale_after_s=settings.stale_after_s,
            state=kept.get("payoff"),
        )
        self._latency = SidecarLatency(settings, kept.get("latency"), model=report.model)
        self._changes = (
            restored(f"{report.model}, engine", kept.get("engine"), ChangeWatch.restored) or ChangeWatch()
        )
        self._pending: list[Change] = []
        self._restarted = False
        self._undated: list[Change] = []
        """Changes without a draft since: whenever they came, what the next drafts show began with them."""
        self._not_before = 0.0
        """A drift that was found after a change did not begin before it: the evidence began anew."""
        self._recent = RecentWindows(settings.history_chunk_s)
        self._reading: ModelReading | None = None
        self._history: deque[tuple[float, Change]] = deque(maxlen=MAX_EVENTS)
        self._words: Words | None = None
        self._explained = 0.0
        self._about: tuple[object, ...] = ()
        """What the words are about; they are not kept for another verdict or over another event."""
        self._dated = 0

    def restarted(self) -> None:
        """The engine's counters started again; taken up by the next look, once the engine's page has the model."""
        self._restarted = True

    def look(self, report: ModelReport, interval: Interval, now: float) -> None:
        """Compare the engine with what it was.

        Args:
            report: the model as known now.
            interval: the scrape.
            now: its end on the clock of the monitors.
        """
        if not self.reported:
            self._monitor.rebase(now - 1.0)  # kept by a clock that was ahead
        self.reported = now
        restarted, self._restarted = self._restarted, False
        for change in self._changes.take(report, interval.version, now, restarted=restarted):
            self._monitor.changed(change)
            self._undated.append(change)
            self._pending.append(change)
            LOG.info("%s: after %s the draft is tested anew", self.name, change.words)

    def judge(
        self,
        report: ModelReport,
        interval: Interval,
        now: float,
        before: float,
        total: Window,
        classes: Mapping[str, Window],
    ) -> None:
        """Take the counts of a scrape in.

        Args:
            report: the model as known now.
            interval: the scrape.
            now: its end on the clock of the monitors.
            before: end of the scrape before it, on the same clock.
            total: all of the model's drafts in it.
            classes: the part of them that has a class, by class.
        """
        changes, self._pending = self._pending, []
        # What requests reported in the interval of a change is mostly of the time before.
        own = {} if changes else classes
        if total.drafts > 0.0:
            self._date(before)
        self._recent.add(now, total, own, cut=bool(changes))
        last, self._reading = self._reading, self._dated_reading(self._monitor.update(total, now, own))
        verdict = self._reading.verdict
        self._explain(self._reading, report, now)
        self._payoff.take(report, interval, total, verdict.design, changed=bool(changes))
        self._latency.take(report, interval, now, verdict, changes)
        self._tell(last, self._reading)

    def _date(self, at: float) -> None:
        """Give the changes since the last drafts a time: drafts of the changed engine began after it."""
        changes, self._undated = self._undated, []
        self._history.extend((at, change) for change in changes)
        self._dated += len(changes)
        if changes and (self._reading is None or self._reading.verdict.state is not DriftState.DRIFTED):
            self._not_before = at

    def present(self, at: float, now: float) -> Present:
        """What is known at a time.

        Args:
            at: on the clock of the monitors.
            now: the same moment, monotonic seconds as of `Interval.now`.
        """
        reading = self._dated_reading(self._monitor.reading(at))
        signals = self._latency.readings(at, reading.verdict)
        return Present(self.name, reading, self._words, self._payoff.known(now), signals)

    def _dated_reading(self, reading: ModelReading) -> ModelReading:
        """The reading with the drift's own beginning: the total may have fallen before, by another mix."""
        since = reading.verdict.since
        if since is None or since >= self._not_before:
            return reading
        return replace(reading, verdict=replace(reading.verdict, since=self._not_before))

    def accept(self) -> None:
        """Somebody says that acceptance, latency and queue wait are as they should be: learn them again."""
        self._monitor.accept()
        self._latency.accept()
        self._words = self._reading = None

    def state(self) -> dict[str, Any]:
        """Everything that is kept, as JSON."""
        return {
            "drift": self._monitor.state(),
            "payoff": self._payoff.state(),
            "latency": self._latency.state(),
            "engine": self._changes.state(),
        }

    def _explain(self, reading: ModelReading, report: ModelReport, now: float) -> None:
        if not wants_explanation(reading):
            self._words = None
            return
        wait = AGAIN_S if self._words is not None and self._words.cause else UNNAMED_AGAIN_S
        about = (reading.verdict.state, reading.mix_shift, self._dated)
        if self._words is None or about != self._about or now - self._explained >= wait:
            from specwatch_detectors.sidecar_explanation import (  # noqa: PLC0415 - 2 MiB that most never need
                explanation_of,
                words_of,
            )

            self._explained, self._about = now, about
            self._words = words_of(
                explanation_of(
                    self._monitor,
                    reading,
                    self._recent,
                    self._history,
                    report,
                    interval_s=self._settings.budget.interval_s,
                    adaptive=self._changes.adaptive,
                )
            )

    def _tell(self, before: ModelReading | None, now: ModelReading) -> None:
        if before is not None and before.verdict.state is now.verdict.state and before.mix_shift is now.mix_shift:
            return
        state = now.verdict.state
        level = logging.WARNING if state is DriftState.DRIFTED else logging.INFO
        cause = f" ({self._words.cause})" if self._words is not None and self._words.cause else ""
        LOG.log(level, "%s: %s: %s%s", self.name, state.value, now.verdict.reason, cause)


def _monitor(
    report: ModelReport, settings: MonitorSettings, calibrations: Mapping[str, Calibration], kept: object
) -> ModelMonitor:
    depth = report.speculative_tokens or 1
    found = restored(
        f"{report.model}, drift",
        kept,
        lambda state: ModelMonitor(settings, depth=depth, calibrations=calibrations, state=state),
    )
    return found or ModelMonitor(settings, depth=depth, calibrations=calibrations)
