"""One model watched: all of its traffic, its classes, and the verdict that the two give together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.class_monitor import ClassMonitor
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState, Reading
from specwatch_detectors.window import Window

LEAST_COVERAGE: Final = 0.8
"""Share of drafts with a class and its baseline from which the classes judge instead of the total."""


_MIX_IS: Final = -4.6
"""Nats of evidence for "no class accepts less" that make a drop of the total a change of mix: 1 % error."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a profile knows of one stream.

    Attributes:
        baseline: acceptance when the draft fitted.
        design: long-run design effect, without safety factor.
        threshold: h in nats.
    """

    baseline: Baseline
    design: float
    threshold: float


@dataclass(frozen=True, slots=True)
class ModelReading:
    """What is known of one model.

    Attributes:
        verdict: the state to act on.
        total: all traffic together, whatever its mix.
        classes: by traffic class.
        mix_shift: the total moved, and the classes did not: traffic changed, not the draft.
    """

    verdict: Reading
    total: Reading
    classes: Mapping[str, Reading] = field(default_factory=dict)
    mix_shift: bool = False


class ModelMonitor:
    """Watches one model.

    Where classes cover the traffic, they give the verdict: a drop of the total alone is a change of mix, shown and
    never paged. Without classes the total gives it, and a change of mix cannot be told from drift.

    Args:
        settings: budget and limits.
        depth: draft tokens per draft (K).
        calibrations: by traffic class; `""` is the total.
        state: what `state` of a predecessor gave.

    Raises:
        ValueError: the state is not one of a model monitor.
    """

    def __init__(
        self,
        settings: MonitorSettings = MonitorSettings(),  # noqa: B008 - immutable
        *,
        depth: int = 1,
        calibrations: Mapping[str, Calibration] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        self._depth = depth
        self._calibrations = {} if calibrations is None else dict(calibrations)
        self.total = self._new_monitor("", settings)
        self.classes = ClassMonitor(settings, self._new_monitor)
        self._settings = settings
        self.alarms = 0
        self._drifted = False
        self._mix_evidence = 0.0
        self._mix_proven = False
        self._seen: float | None = None
        self._dropped: float | None = None
        if state is not None:
            try:
                self.total.restore(state["total"])
                self.classes = ClassMonitor(settings, self._new_monitor, state["classes"])
                self.alarms, self._drifted = int(state["alarms"]), bool(state["drifted"])
                self._mix_evidence, self._seen = float(state["mix_evidence"]), state["seen"]
                self._dropped = state["dropped"]
                self._mix_proven = bool(state["mix_proven"])
            except (KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"not the state of a model monitor: {error!r}") from error

    def _new_monitor(self, name: str, settings: MonitorSettings) -> DriftMonitor:
        known = self._calibrations.get(name)
        if known is None:
            return DriftMonitor(settings, depth=self._depth)
        return DriftMonitor(
            settings,
            depth=self._depth,
            baseline=known.baseline,
            design=known.design,
            threshold=max(known.threshold, settings.budget.threshold),
        )

    def update(self, total: Window, now: float, classes: Mapping[str, Window] | None = None) -> ModelReading:
        """Take one interval in.

        Args:
            total: all drafts of the interval.
            now: its end, seconds; an interval that is not newer than the last one is left out, as counted already.
            classes: the part of them that has a class, by class.
        """
        if self._seen is not None and now <= self._seen:
            return self.reading(now)
        self._seen = now
        reading = self.total.update(total, now)
        if not self.total.drifted:
            self._dropped = None
        elif self._dropped is None:
            self._dropped = now
        readings = self.classes.update(classes or {}, now, total.drafts)
        self._weigh_mix(reading, classes or {}, now)
        judged = self._by_classes(reading, readings, now)
        self._count(judged.verdict.state, mix_shift=judged.mix_shift)
        return replace(judged, verdict=replace(judged.verdict, alarms=self.alarms))

    def _count(self, state: DriftState, *, mix_shift: bool) -> None:
        """One alarm for each time that drift begins; doubt, or not being able to tell, does not end it."""
        if state is DriftState.DRIFTED and not self._drifted:
            self.alarms += 1
            self._drifted = True
        elif state is DriftState.OK or mix_shift:
            self._drifted = False

    def _weigh_mix(self, total: Reading, classes: Mapping[str, Window], now: float) -> None:
        """Wald's test of "no class accepts less" from the moment on at which the classes' counts have caught up.

        Once proven it holds until all evidence for it is gone: single intervals do not undo it, nor does silence.
        """
        if not self.total.drifted:
            self._mix_evidence, self._mix_proven = 0.0, False
        elif self._mix_evidence > _MIX_IS and (
            total.since is None or now >= total.since + self._settings.class_lag_s
        ):  # decided stays decided, until the total recovers or a class drifts
            self._mix_evidence += self.classes.within(classes)
            self._mix_proven = self._mix_evidence <= _MIX_IS or (self._mix_proven and self._mix_evidence < 0.0)

    def _by_classes(self, total: Reading, classes: Mapping[str, Reading], now: float) -> ModelReading:
        if self.classes.coverage < LEAST_COVERAGE or total.state is DriftState.CANNOT_TELL:
            return ModelReading(self._without_classes(total), total, classes)
        bad = self.classes.drifted_classes(now)
        score = self.classes.score
        if self.classes.drifted or bad:
            where = f"in {', '.join(bad)}" if bad else "over all classes together, whatever their mix"
            since = min((r.since for r in (total, *classes.values()) if r.since is not None), default=None)
            about = classes[bad[0]] if len(bad) == 1 and bad[0] in classes else self._since_onset(total)
            reason = f"acceptance has dropped within classes ({where}): {_comparison(about)}"
            verdict = Reading(DriftState.DRIFTED, reason, max(1.0, score or 1.0), since=since)
            return self._judged(verdict, total, classes, mix_shift=False)
        if total.state is DriftState.DRIFTED:
            return self._total_alone(total, classes, now)
        gone = [name for name, monitor in sorted(self.classes.monitors.items()) if monitor.drifted]
        if gone:
            reason = f"classes with traffic accept as before; {', '.join(gone)} had drifted and has no traffic now"
            verdict = Reading(DriftState.WATCH, reason, score)
            return self._judged(verdict, total, classes, mix_shift=False)
        return self._judged(replace(total, score=score), total, classes, mix_shift=False)

    def _since_onset(self, total: Reading) -> Reading:
        """The total with the length since its evidence began: classes find a drop before the last hour shows it."""
        fallen = self.total.fallen.length
        return total if fallen is None or self.total.drifted else replace(total, length=fallen)

    def _without_classes(self, total: Reading) -> Reading:
        """The total's reading; where classes were known and now are not, a drop may be one of the mix."""
        if total.state is not DriftState.DRIFTED or not self.classes.monitors:
            return total
        share = self.classes.coverage
        return replace(
            total, reason=f"{total.reason}; only {share:.0%} of it has a class, the mix may have changed"
        )

    def _total_alone(self, total: Reading, classes: Mapping[str, Reading], now: float) -> ModelReading:
        """The total has drifted and no class has: a change of mix, or classes that do not tell yet."""
        score = self.classes.score
        if self._mix_proven:
            reason = f"the mix of traffic has changed, no class accepts less: {_comparison(total)}"
            verdict = Reading(DriftState.WATCH, reason, score, since=total.since)
            return self._judged(verdict, total, classes, mix_shift=True)
        waited = 0.0 if self._dropped is None else now - self._dropped
        if waited > self._settings.class_lag_s + self._settings.class_patience_s:
            return self._judged(total, total, classes, mix_shift=False)
        reason = f"acceptance of all traffic has dropped, the classes do not tell yet: {_comparison(total)}"
        verdict = Reading(DriftState.WATCH, reason, score, since=total.since)
        return self._judged(verdict, total, classes, mix_shift=False)

    def _judged(
        self, verdict: Reading, total: Reading, classes: Mapping[str, Reading], *, mix_shift: bool
    ) -> ModelReading:
        whole = replace(
            verdict,
            length=total.length,
            baseline_length=total.baseline_length,
            design=total.design,
            calibrated=total.calibrated,
        )
        return ModelReading(whole, total, classes, mix_shift)

    def reading(self, now: float) -> ModelReading:
        """What is known at a time without a new interval."""
        total = self.total.reading(now)
        judged = self._by_classes(total, self.classes.readings(now), now)
        return replace(judged, verdict=replace(judged.verdict, alarms=self.alarms))

    def rebase(self, now: float) -> None:
        """Kept times that lie in the future (a clock that was ahead) are moved to now."""
        self._seen, self._dropped = (None if at is None else min(at, now) for at in (self._seen, self._dropped))
        self.total.rebase(now)
        self.classes.rebase(now)

    def changed(self, change: Change) -> None:
        """The engine changed; a restart alone ends no drift."""
        self._drifted = self._drifted and change is Change.RESTART
        self._mix_evidence, self._mix_proven, self._dropped = 0.0, False, None  # the classes are asked again
        self.total.changed(change)
        self.classes.changed(change)

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal: total and classes learn again."""
        self._drifted = False
        self._mix_evidence, self._mix_proven, self._dropped = 0.0, False, None
        self.total.accept()
        self.classes.accept()

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "total": self.total.state(),
            "classes": self.classes.state(),
            "alarms": self.alarms,
            "drifted": self._drifted,
            "mix_evidence": self._mix_evidence,
            "mix_proven": self._mix_proven,
            "seen": self._seen,
            "dropped": self._dropped,
        }


def _comparison(reading: Reading) -> str:
    if reading.length is None or reading.baseline_length is None:
        return "no drafts lately"
    return f"acceptance length {reading.length:.2f}, baseline {reading.baseline_length:.2f}"
