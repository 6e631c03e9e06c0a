"""The detectors inside the scrape sidecar: what it reads goes in, verdicts come out."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client.metrics_core import Metric

from specwatch_detectors.change_watch import ChangeWatch
from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.drift_families import families
from specwatch_detectors.model_monitor import Calibration, ModelMonitor, ModelReading
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.payoff.payoff_families import families as payoff_families
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.recent_windows import RecentWindows
from specwatch_detectors.sidecar_latency import SidecarLatency
from specwatch_detectors.sidecar_payoff import SidecarPayoff
from specwatch_detectors.sidecar_view import Present, judgement
from specwatch_detectors.sidecar_words import AGAIN_S, UNNAMED_AGAIN_S, Words, wants_explanation
from specwatch_detectors.signal_families import families as signal_families
from specwatch_detectors.state_store import StateStore
from specwatch_detectors.window import NOTHING, Window
from specwatch_detectors.windows_of_counts import judgeable, model_windows
from specwatch_exporters.report import ModelReport
from specwatch_exporters.sidecar.watcher import Interval, Judgement

LOG = logging.getLogger("specwatch.drift")
SAVE_EVERY_S: Final = 60.0
MAX_EVENTS: Final = 20
MAX_MODELS: Final = 20
"""Models judged per engine: adapters beyond it are exported, not judged."""


@dataclass(slots=True)
class _Model:
    """One model and what is known of it."""

    monitor: ModelMonitor
    payoff: SidecarPayoff
    latency: SidecarLatency
    recent: RecentWindows
    changes: ChangeWatch = field(default_factory=ChangeWatch)
    reading: ModelReading | None = None
    history: deque[tuple[float, Change]] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS))
    words: Words | None = None
    explained: float = 0.0


class SidecarWatch:
    """Judges every model of one engine.

    Args:
        settings: budget and limits; the budget's interval is the scrape interval.
        calibrations: by model name, what a profile knows of it.
        classes: counts per traffic class, or None.
        steps: step-time profile by which to judge whether speculation pays, or None.
        store: keeps the state over restarts, or None.
    """

    def __init__(
        self,
        settings: MonitorSettings,
        *,
        calibrations: Callable[[str], Mapping[str, Calibration]] | None = None,
        classes: ClassCounts | None = None,
        steps: StepProfile | None = None,
        store: StateStore | None = None,
    ) -> None:
        self._settings = settings
        self._calibrations = calibrations or (lambda _model: {})
        self._classes = classes
        self._steps = steps
        self._store = store
        self._models: dict[str, _Model] = {}
        self._lock = threading.Lock()
        self._offset: float | None = None
        self._saved = self._scraped = 0.0
        self._troubles: set[str] = set()
        self._kept: Mapping[str, Any] = self._load()

    def take(self, interval: Interval) -> None:
        """One good scrape; an error of the detectors is logged and does no harm to the scrape."""
        with self._lock:
            try:
                self._take(interval)
            except Exception:
                if "internal" not in self._troubles:
                    LOG.exception("internal error in the drift detectors; said once")
                self._troubles.add("internal")

    def _take(self, interval: Interval) -> None:
        now = self._time(interval)
        windows = model_windows(interval.increases)
        classes = self._class_windows()
        judged = [report for report in interval.reports if judgeable(report.definition)][:MAX_MODELS]
        for report in judged:
            model = self._model(report)
            changes = model.changes.take(report, interval.version, now, restarted=interval.restarted)
            for change in changes:
                model.monitor.changed(change)
                model.history.append((self._scraped, change))  # it happened after the scrape before
                LOG.info("%s: after %s the draft is tested anew", report.model, change.words)
            if interval.increases:
                # What requests reported in the interval of a change is mostly of the time before.
                own = {} if changes else classes.get(report.model, {}) if len(judged) > 1 else _all(classes)
                self._judge(model, report, interval, now, windows.get(report.model, NOTHING), own, changes)
        self._scraped = now
        self._save_if_due(now)

    def _judge(
        self,
        model: _Model,
        report: ModelReport,
        interval: Interval,
        now: float,
        total: Window,
        classes: Mapping[str, Window],
        changes: Sequence[Change],
    ) -> None:
        model.recent.add(now, total, classes, cut=bool(changes))
        before, model.reading = model.reading, model.monitor.update(total, now, classes)
        verdict = model.reading.verdict
        self._explain(model, model.reading, report, now)
        model.payoff.take(report, interval, total, verdict.design, changed=bool(changes))
        model.latency.take(report, interval, now, verdict, changes)
        self._tell(report.model, before, model)

    def _time(self, interval: Interval) -> float:
        """Wall time that never runs backwards: monotonic steps on top of the wall time at the start."""
        if self._offset is None:
            self._offset = interval.wall - interval.now
        return interval.now + self._offset

    def _model(self, report: ModelReport) -> _Model:
        found = self._models.get(report.model)
        if found is None:
            recent = RecentWindows(self._settings.history_chunk_s)
            kept = self._kept.get(report.model, {})
            payoff = SidecarPayoff(
                report, self._steps, half_life_s=self._settings.payoff_half_life_s, state=kept.get("payoff")
            )
            found = self._models[report.model] = _Model(
                self._new_monitor(report), payoff, SidecarLatency(self._settings, kept.get("latency")), recent
            )
        return found

    def _new_monitor(self, report: ModelReport) -> ModelMonitor:
        depth = report.speculative_tokens or 1
        calibrations = self._calibrations(report.model)
        kept = self._kept.get(report.model, {}).get("drift")
        if kept is not None:
            try:
                return ModelMonitor(self._settings, depth=depth, calibrations=calibrations, state=kept)
            except ValueError as error:
                LOG.warning("%s: the kept state is not used: %s", report.model, error)
        return ModelMonitor(self._settings, depth=depth, calibrations=calibrations)

    def _class_windows(self) -> dict[str, dict[str, Window]]:
        if self._classes is None:
            return {}
        try:
            found = self._classes.take()
        except (OSError, ValueError) as error:
            self._say("classes", f"counts per traffic class cannot be read: {error}")
            return {}
        self._troubles.discard("classes")
        return found

    def _explain(self, model: _Model, reading: ModelReading, report: ModelReport, now: float) -> None:
        if not wants_explanation(reading):
            model.words = None
            return
        wait = AGAIN_S if model.words is not None and model.words.cause else UNNAMED_AGAIN_S
        if model.words is None or now - model.explained >= wait:
            from specwatch_detectors.sidecar_explanation import (  # noqa: PLC0415 - 2 MiB that most never need
                explanation_of,
                words_of,
            )

            model.explained = now
            model.words = words_of(
                explanation_of(
                    model.monitor,
                    reading,
                    model.recent,
                    model.history,
                    report,
                    interval_s=self._settings.budget.interval_s,
                    adaptive=model.changes.adaptive,
                )
            )

    def _tell(self, name: str, before: ModelReading | None, model: _Model) -> None:
        now = model.reading
        if now is None or (
            before is not None and before.verdict.state is now.verdict.state and before.mix_shift is now.mix_shift
        ):
            return
        state = now.verdict.state
        level = logging.WARNING if state is DriftState.DRIFTED else logging.INFO
        cause = f" ({model.words.cause})" if model.words is not None and model.words.cause else ""
        LOG.log(level, "%s: %s: %s%s", name, state.value, now.verdict.reason, cause)

    def _say(self, trouble: str, text: str) -> None:
        """Log a trouble once, until it is over."""
        if trouble not in self._troubles:
            self._troubles.add(trouble)
            LOG.warning("%s", text)

    # Saying.

    def families(self, now: float) -> Iterable[Metric]:
        """Metrics of the present verdicts."""
        present = self._present(now)
        payoffs = [one.payoff for one in present if one.payoff is not None]
        return [
            *families({one.name: one.reading for one in present}),
            *signal_families({one.name: one.signals for one in present}),
            *payoff_families(payoffs),
        ]

    def judgements(self, now: float) -> tuple[Judgement, ...]:
        """Present verdicts in plain words."""
        at = now + (self._offset or 0.0)
        return tuple(judgement(one, at) for one in self._present(now))

    def _present(self, now: float) -> list[Present]:
        at = now + (self._offset or 0.0)
        with self._lock:
            return [_present(name, model, at) for name, model in sorted(self._models.items())]

    # Keeping.

    def close(self) -> None:
        """Keep the state for the next start."""
        with self._lock:
            self._save()

    def _save_if_due(self, now: float) -> None:
        if now - self._saved >= SAVE_EVERY_S:
            self._saved = now
            self._save()

    def _save(self) -> None:
        if self._store is None or not self._models:
            return
        models = {
            name: {"drift": model.monitor.state(), "payoff": model.payoff.state(), "latency": model.latency.state()}
            for name, model in self._models.items()
        }
        body = {"version": 1, "models": models}
        try:
            self._store.save(body)
        except OSError as error:
            self._say("store", f"the drift state cannot be kept: {error.strerror or error}")
        else:
            self._troubles.discard("store")

    def _load(self) -> Mapping[str, Any]:
        if self._store is None:
            return {}
        try:
            body = self._store.load()
        except (OSError, ValueError) as error:
            LOG.warning("the kept drift state is not used: %s", error)
            return {}
        models = {} if body is None else body.get("models", {})
        if not isinstance(models, dict) or not all(isinstance(one, dict) for one in models.values()):
            LOG.warning("the kept drift state is not used: it is of another form")
            return {}
        return models


def _present(name: str, model: _Model, at: float) -> Present:
    reading = model.monitor.reading(at)
    signals = model.latency.readings(at, reading.verdict)
    return Present(name, reading, model.words, model.payoff.report, signals)


def _all(classes: Mapping[str, Mapping[str, Window]]) -> dict[str, Window]:
    """Classes of all model names together: clients may call the one model by other names."""
    found: dict[str, Window] = {}
    for own in classes.values():
        for name, window in own.items():
            found[name] = found.get(name, NOTHING) + window
    return found
