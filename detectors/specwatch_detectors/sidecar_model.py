"""One model of a scrape sidecar: its monitors, what changed about its engine, and the words for both."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from specwatch_detectors.change_watch import ChangeWatch
from specwatch_detectors.engine_events import EngineEvents
from specwatch_detectors.engine_life import life_of
from specwatch_detectors.kept_part import kept_time, restored
from specwatch_detectors.model_monitor import Calibration, ModelMonitor, ModelReading
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_detectors.profile_use import made_at, replaces
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.recent_windows import RecentWindows
from specwatch_detectors.sidecar_latency import SidecarLatency
from specwatch_detectors.sidecar_payoff import SidecarPayoff
from specwatch_detectors.sidecar_view import Present
from specwatch_detectors.sidecar_words import Account, wants_explanation
from specwatch_detectors.window import NOTHING, Window
from specwatch_exporters.report import ModelReport
from specwatch_exporters.sidecar.watcher import Interval

LOG = logging.getLogger("specwatch.drift")


class SidecarModel:
    """Judges one model.

    Args:
        report: the model as first read.
        settings: budget and limits.
        calibrations: what a profile knows of it, by traffic class.
        steps: step-time profile by which to judge whether speculation pays, or None.
        kept: what `state` of a predecessor gave, or nothing; a part that cannot be read is left out.
        remark: what there is to say about the profile, or empty.
    """

    def __init__(
        self,
        report: ModelReport,
        settings: MonitorSettings,
        calibrations: Mapping[str, Calibration],
        steps: StepProfile | None,
        kept: Mapping[str, Any],
        *,
        remark: str = "",
    ) -> None:
        self.name = report.model
        self.reported = 0.0
        """When it was last on the engine's page; seconds on the clock of the monitors."""
        self._settings = settings
        self._remark = remark
        self._made = kept_time(kept.get("made"))
        """When the baseline was given: by a profile, or by somebody who accepted what was; epoch seconds."""
        if "drift" in kept and replaces(report.model, calibrations, self._made):
            kept = {name: part for name, part in kept.items() if name not in {"drift", "account"}}
        self._made = max(self._made, made_at(calibrations))
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
        self._events = (
            restored(f"{report.model}, events", kept.get("events"), EngineEvents.restored) or EngineEvents()
        )
        self._recent = RecentWindows(settings.history_chunk_s)
        self._reading: ModelReading | None = None
        self._account = restored(f"{report.model}, words", kept.get("account"), Account.restored) or Account()

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
            self._account.rebase(now)
            self._events.begin(now)
        self.reported = now
        restarted, self._restarted = self._restarted, False
        life = life_of(interval, report.model)
        for change in self._changes.take(report, interval.version, now, restarted=restarted, life=life):
            self._monitor.changed(change)
            self._events.note(change)
            self._pending.append(change)
            if change is not Change.DEPTH or not self._monitor.total.bank.baseline.q:
                LOG.info("%s: after %s the draft is tested anew", self.name, change.words)

    def judge(
        self,
        report: ModelReport,
        interval: Interval,
        now: float,
        before: float,
        total: Window,
        classes: Mapping[str, Window] | None,
    ) -> None:
        """Take the counts of a scrape in.

        Args:
            report: the model as known now.
            interval: the scrape.
            now: its end on the clock of the monitors.
            before: end of the scrape before it, on the same clock.
            total: all of the model's drafts in it.
            classes: the part of them that has a class, by class; None if it could not be read.
        """
        changes, self._pending = self._pending, []
        # What requests reported in the interval of a change is mostly of the time before.
        own = {} if changes else classes
        if total.drafts > 0.0:
            self._events.date(before)
        if self._reading is None and before < now:
            self._monitor.update(NOTHING, before, {})  # drafts of now did not begin when a predecessor went
        self._recent.add(now, total, own or {}, cut=bool(changes))
        last, self._reading = self._reading, self._monitor.update(total, now, own)
        verdict = self._reading.verdict
        self._explain(self._reading, report, now)
        self._payoff.take(report, interval, total, verdict.design, changed=bool(changes))
        self._latency.take(report, interval, now, verdict, changes)
        self._tell(last, self._reading)

    def present(self, at: float, now: float) -> Present:
        """What is known at a time.

        Args:
            at: on the clock of the monitors.
            now: the same moment, monotonic seconds as of `Interval.now`.
        """
        reading = self._monitor.reading(at)
        signals = self._latency.readings(at, reading.verdict)
        words = self._account.shown(reading)
        return Present(self.name, reading, words, self._payoff.known(now), signals, self._remark)

    def accept(self) -> None:
        """Somebody says that acceptance, latency and queue wait are as they should be: learn them again."""
        self._monitor.accept()
        self._latency.accept()
        self._account, self._reading = Account(), None
        self._made = max(self._made, self.reported)

    def state(self) -> dict[str, Any]:
        """Everything that is kept, as JSON."""
        return {
            "drift": self._monitor.state(),
            "payoff": self._payoff.state(),
            "latency": self._latency.state(),
            "engine": self._changes.state(),
            "events": self._events.state(),
            "made": self._made,
            "account": self._account.state(),
        }

    def _explain(self, reading: ModelReading, report: ModelReport, now: float) -> None:
        account, events = self._account, self._events.dated
        account.follow(reading)
        if not wants_explanation(reading) or not account.due(events, now):
            return
        from specwatch_detectors.sidecar_explanation import (  # noqa: PLC0415 - 2 MiB that most never need
            explanation_of,
            words_of,
        )

        found = explanation_of(
            self._monitor,
            reading,
            self._recent,
            self._events,
            report,
            interval_s=self._settings.budget.interval_s,
            adaptive=self._changes.adaptive,
        )
        account.take(words_of(found, reading, account.words), reading, events, now)

    def _tell(self, before: ModelReading | None, now: ModelReading) -> None:
        if before is not None and before.verdict.state is now.verdict.state and before.mix_shift is now.mix_shift:
            return
        state = now.verdict.state
        level = logging.WARNING if state is DriftState.DRIFTED else logging.INFO
        words = self._account.shown(now)
        cause = f" ({words.cause})" if words is not None and words.cause else ""
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
