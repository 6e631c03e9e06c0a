"""The detectors inside the scrape sidecar: what it reads goes in, verdicts come out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client.metrics_core import Metric

from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.drift_families import families
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.payoff.payoff_families import families as payoff_families
from specwatch_detectors.payoff.step_profile import StepProfile
from specwatch_detectors.sidecar_memory import SidecarMemory
from specwatch_detectors.sidecar_model import SidecarModel
from specwatch_detectors.sidecar_view import Present, judgement
from specwatch_detectors.signal_families import families as signal_families
from specwatch_detectors.state_store import StateStore
from specwatch_detectors.window import NOTHING, Window
from specwatch_detectors.windows_of_counts import judgeable, model_windows
from specwatch_exporters.report import NO_DEFINITION, ModelReport
from specwatch_exporters.sidecar.watcher import Interval, Judgement

LOG = logging.getLogger("specwatch.drift")
SAVE_EVERY_S: Final = 60.0
MAX_MODELS: Final = 20
"""Models judged per engine, and models kept: adapters beyond it are exported, not judged."""
FORGET_AFTER_S: Final = 86_400.0
"""A model that the engine has not reported for a day is forgotten."""

_Classes = Mapping[str, Mapping[str, Window]]


class SidecarWatch:
    """Judges every model of one engine.

    Args:
        settings: budget and limits; the budget's interval is the scrape interval.
        calibrations: by model name, what a profile knows of it.
        remark: by model name, what there is to say about the profile; empty for nothing.
        classes: counts per traffic class, or None.
        steps: step-time profile by which to judge whether speculation pays, or None.
        store: keeps the state over restarts, or None.
    """

    def __init__(
        self,
        settings: MonitorSettings,
        *,
        calibrations: Callable[[str], Mapping[str, Calibration]] | None = None,
        remark: Callable[[str], str] | None = None,
        classes: ClassCounts | None = None,
        steps: StepProfile | None = None,
        store: StateStore | None = None,
    ) -> None:
        self._settings = settings
        self._calibrations = calibrations or (lambda _model: {})
        self._remark = remark or (lambda _model: "")
        self._classes = classes
        self._steps = steps
        self._memory = SidecarMemory(store)
        self._models: dict[str, SidecarModel] = {}
        self._lock = threading.Lock()
        self._offset: float | None = None
        self._saved = self._scraped = 0.0
        self._troubles: set[str] = set()
        self._kept = self._memory.load()

    def take(self, interval: Interval) -> None:
        """One good scrape; an error of the detectors is logged and does no harm to the scrape."""
        try:
            classes = self._class_windows()  # it may wait for another process, and pages must not wait with it
            with self._lock:
                self._take(interval, classes)
        except Exception as error:
            if self._is_new(error):
                LOG.exception("internal error in the drift detectors; said once")

    def _take(self, interval: Interval, classes: _Classes | None) -> None:
        now = self._time(interval)
        if interval.restarted:
            for model in self._models.values():
                model.restarted()
        judged = [report for report in interval.reports if self._is_judged(report)][:MAX_MODELS]
        for report in judged:
            own = _of(report.model, classes, alone=len(judged) == 1)
            try:
                self._judge(report, interval, now, own)
            except Exception as error:
                if self._is_new(error):
                    LOG.exception("%s: internal error in the drift detectors; said once", report.model)
        self._forget(now)
        self._scraped = now
        if now - self._saved >= SAVE_EVERY_S:
            self._saved = now
            self._save()

    def _is_judged(self, report: ModelReport) -> bool:
        """A model that is known stays judged while nothing tells what it counts: just up again, or switched off."""
        return judgeable(report.definition) or (report.definition == NO_DEFINITION and report.model in self._models)

    def _judge(
        self, report: ModelReport, interval: Interval, now: float, classes: Mapping[str, Window] | None
    ) -> None:
        model = self._model(report)
        model.look(report, interval, now)
        if interval.increases:
            counts = {key: value for key, value in interval.increases.items() if key.model == report.model}
            total = model_windows(counts).get(report.model, NOTHING)
            model.judge(report, interval, now, self._scraped or now, total, classes)

    def _time(self, interval: Interval) -> float:
        """Wall time that never runs backwards: monotonic steps on top of the wall time at the start."""
        if self._offset is None:
            self._offset = interval.wall - interval.now
        return interval.now + self._offset

    def _model(self, report: ModelReport) -> SidecarModel:
        found = self._models.get(report.model)
        if found is None:
            calibrations = self._calibrations(report.model)
            kept = self._kept.pop(report.model, {})
            remark = self._remark(report.model)
            found = SidecarModel(report, self._settings, calibrations, self._steps, kept, remark=remark)
            self._models[report.model] = found
        return found

    def _forget(self, now: float) -> None:
        """Drop models that are gone for a day, and the longest gone of too many."""
        latest = sorted(self._models.values(), key=lambda model: model.reported, reverse=True)[:MAX_MODELS]
        self._models = {model.name: model for model in latest if now - model.reported <= FORGET_AFTER_S}

    def _class_windows(self) -> _Classes | None:
        """Counts by model and class; none where nobody counts them, None where they cannot be read."""
        if self._classes is None:
            return {}
        try:
            found = self._classes.take()
        except (OSError, ValueError) as error:
            if "classes" not in self._troubles:
                LOG.warning("counts per traffic class cannot be read: %s", error)
            self._troubles.add("classes")
            return None
        self._troubles.discard("classes")
        return found

    def _is_new(self, error: Exception) -> bool:
        """Whether no error of this kind was logged yet; a kind of error is said once."""
        kind = f"internal {type(error).__name__}"
        known = kind in self._troubles
        self._troubles.add(kind)
        return not known

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
        found = []
        with self._lock:
            for name, model in sorted(self._models.items()):
                try:
                    found.append(model.present(at, now))
                except Exception as error:
                    if self._is_new(error):
                        LOG.exception("%s: internal error in the drift detectors; said once", name)
        return found

    def accept(self) -> None:
        """Somebody says that what the engine does now is the new normal: all baselines are learned again."""
        with self._lock:
            for name, model in sorted(self._models.items()):
                model.accept()
                LOG.info("%s: the present acceptance is the new normal, its baselines are learned again", name)
            self._save()

    # Keeping.

    def close(self) -> None:
        """Keep the state for the next start."""
        with self._lock:
            self._save()

    def _save(self) -> None:
        self._memory.save({name: model.state() for name, model in self._models.items()})


def _of(model: str, classes: _Classes | None, *, alone: bool) -> Mapping[str, Window] | None:
    """Classes of a model; those of all names if it is alone: clients may call the one model by other names."""
    if classes is None:
        return None
    if not alone:
        return classes.get(model, {})
    found: dict[str, Window] = {}
    for own in classes.values():
        for name, window in own.items():
            found[name] = found.get(name, NOTHING) + window
    return found
