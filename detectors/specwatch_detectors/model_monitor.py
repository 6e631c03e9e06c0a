"""One model watched: all of its traffic, its classes, and the verdict that the two give together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from specwatch_detectors.baseline import Baseline
from specwatch_detectors.class_coverage import LEAST_COVERAGE, ClassCoverage
from specwatch_detectors.class_monitor import ClassMonitor
from specwatch_detectors.drift_monitor import DriftMonitor
from specwatch_detectors.mix_test import MixTest, MixVerdict
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState, Reading, compared
from specwatch_detectors.unexplained_drop import UnexplainedDrop
from specwatch_detectors.window import Window


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a profile knows of one stream.

    Attributes:
        baseline: acceptance when the draft fitted.
        design: long-run design effect, without safety factor.
        threshold: h in nats.
        made: when the profile was made, epoch seconds; 0 if that is not known.
    """

    baseline: Baseline
    design: float
    threshold: float
    made: float = 0.0


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
    never paged. A class too young to judge, or unknown, is a class all the same: the drop is then asked for in the
    others. Without classes the total gives the verdict, and a change of mix cannot be told from drift.

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
        self.coverage = ClassCoverage(settings.class_lag_s)
        self._mix = MixTest(depth, settings.least_effective)
        self._settings = settings
        self.alarms = 0
        self._drifted = False
        self._seen: float | None = None
        self._dropped: float | None = None
        self._of_classes = False
        """The drop of the total was found in the classes, and none of mix before it."""
        if state is not None:
            try:
                self._restore(state)
            except (KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"not the state of a model monitor: {error!r}") from error

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.total.restore(state["total"])
        self.classes = ClassMonitor(self._settings, self._new_monitor, state["classes"])
        self.coverage = ClassCoverage(self._settings.class_lag_s, state["coverage"])
        self._mix = MixTest(self._depth, self._settings.least_effective, state["mix"])
        self.alarms, self._drifted = int(state["alarms"]), bool(state["drifted"])
        self._seen, self._dropped = state["seen"], state["dropped"]
        self._of_classes = bool(state.get("of_classes", False))

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
            classes: the part of them that has a class, by class; None if nobody can tell.
        """
        if self._seen is not None and now <= self._seen:
            return self.reading(now)
        began, self._seen = self._seen, now
        reading = self.total.update(total, now, began)
        if not self.total.drifted:
            self._dropped = None
        elif self._dropped is None:
            self._dropped = now
        timely = self.coverage.update(total.drafts, classes, now)
        readings = self.classes.update(classes or {}, now, 0.0 if classes is None else total.drafts)
        self._ask_for_mix(reading, total, classes if timely else None, now if began is None else began)
        if timely and self._over(now, reading):
            self.total.recovered(total)
            reading = self.total.reading(now)
        judged = self._judged(reading, readings, now)
        self._count(judged.verdict.state, mix_shift=judged.mix_shift)
        return replace(judged, verdict=replace(judged.verdict, alarms=self.alarms))

    def _count(self, state: DriftState, *, mix_shift: bool) -> None:
        """One alarm for each time that drift begins; doubt, or not being able to tell, does not end it."""
        if state is DriftState.DRIFTED and not self._drifted:
            self.alarms += 1
            self._drifted = True
        elif state is DriftState.OK or mix_shift:
            self._drifted = False

    def _ask_for_mix(
        self, reading: Reading, total: Window, classes: Mapping[str, Window] | None, began: float
    ) -> None:
        """Keep what is known when the total begins to fall; ask once it fell and the classes are up to date."""
        if not self.total.drifted and self.total.fallen.drafts <= 0.0:
            self._mix.end()
            return
        if not self._mix.asked:
            self._mix.ask(self.total, self.classes.monitors)
        since = self._dropped if reading.since is None else reading.since
        told = classes is not None and self.coverage.share >= LEAST_COVERAGE  # the rest may be what fell
        if told and self.total.drifted and since is not None and began >= since + self._settings.class_lag_s:
            self._mix.take(total, classes or {})

    def _over(self, now: float, total: Reading) -> bool:
        """Whether a drop is over by what the classes say: the total by itself may take much longer.

        One that they explained ends with theirs; one of mix ends where they are as before and the length is, too.
        The total's evidence begins from nothing, against the same baseline: what is left of a drop alarms anew.
        """
        if not self.total.drifted:
            self._of_classes = False
            return False
        drifted = self.classes.drifted or bool(self.classes.drifted_classes(now))
        if self._mix.verdict is MixVerdict.DRAFT or (drifted and self._mix.verdict is MixVerdict.OPEN):
            self._of_classes = True
        elif self._of_classes or (self._mix.verdict is MixVerdict.MIX and _is_back(total)):
            return self.coverage.silence(now) is None and self.classes.as_before >= LEAST_COVERAGE
        return False

    # The verdict.

    def _judged(self, total: Reading, classes: Mapping[str, Reading], now: float) -> ModelReading:
        if total.state is DriftState.CANNOT_TELL or not self.classes.monitors:
            return ModelReading(total, total, classes)
        fallen, bare = total.state is DriftState.DRIFTED, self.coverage.bare(now)
        bad = self.classes.drifted_classes(self.coverage.heard(now))
        if (self.classes.drifted or bad) and (fallen or not bare):
            return self._within(bad, total, classes)
        if fallen:
            waited = 0.0 if self._dropped is None else now - self._dropped
            said = UnexplainedDrop(self._mix, self.coverage, self.classes, self._settings)
            verdict, mix_shift = said.verdict(total, now, waited=waited, paged=self._drifted)
            return _completed(verdict, total, classes, mix_shift=mix_shift)
        if bare or self.coverage.silence(now) is not None or self.classes.coverage < LEAST_COVERAGE:
            return ModelReading(total, total, classes)
        score = self.classes.score
        gone = [name for name, monitor in sorted(self.classes.monitors.items()) if monitor.drifted]
        if gone:
            reason = f"classes with traffic accept as before; {', '.join(gone)} had drifted and has no traffic now"
            return _completed(Reading(DriftState.WATCH, reason, score), total, classes)
        return _completed(replace(total, score=score), total, classes)

    def _within(self, bad: list[str], total: Reading, classes: Mapping[str, Reading]) -> ModelReading:
        """A class has drifted, or all have a little."""
        where = f"in {', '.join(bad)}" if bad else "over all classes together, whatever their mix"
        about = classes[bad[0]] if len(bad) == 1 and bad[0] in classes else self._since_onset(total)
        reason = f"acceptance has dropped within classes ({where}): {compared(about)}"
        score, since = max(1.0, self.classes.score or 1.0), self._since(bad, total, classes)
        verdict = Reading(DriftState.DRIFTED, reason, score, since=since, over=self.classes.over(bad))
        return _completed(verdict, total, classes)

    def _since(self, bad: list[str], total: Reading, classes: Mapping[str, Reading]) -> float | None:
        """When a drop within classes began; the total shows it sooner by their lag, and fell by its mix before."""
        found = [classes[name].since for name in bad if name in classes]
        found.append(self.classes.since if self.classes.drifted else None)
        own = min((at for at in found if at is not None), default=total.since)
        if own is None or total.since is None or total.since < own - self._settings.class_lag_s:
            return own
        return min(own, total.since)

    def _since_onset(self, total: Reading) -> Reading:
        """The total with the length since its evidence began: classes find a drop before the last hour shows it."""
        fallen = self.total.fallen.length
        return total if fallen is None or self.total.drifted else replace(total, length=fallen)

    def reading(self, now: float) -> ModelReading:
        """What is known at a time without a new interval."""
        judged = self._judged(self.total.reading(now), self.classes.readings(now), now)
        return replace(judged, verdict=replace(judged.verdict, alarms=self.alarms))

    def rebase(self, now: float) -> None:
        """Kept times that lie in the future (a clock that was ahead) are moved to now."""
        self._seen, self._dropped = (None if at is None else min(at, now) for at in (self._seen, self._dropped))
        self.total.rebase(now)
        self.classes.rebase(now)
        self.coverage.rebase(now)

    def changed(self, change: Change) -> None:
        """The engine changed; that alone ends no drift, but another method has nothing in common with the old."""
        self._drifted = self._drifted and change is not Change.METHOD
        if change is not Change.DEPTH or not self.total.bank.baseline.q:  # with positions, K is no other draft
            self._mix.end()  # the classes are asked again
            self._dropped = None
        self.total.changed(change)
        self.classes.changed(change)

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal: total and classes learn again."""
        self._drifted = False
        self._mix.end()
        self._dropped = None
        self.total.accept()
        self.classes.accept()

    def state(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {
            "total": self.total.state(),
            "classes": self.classes.state(),
            "coverage": self.coverage.state(),
            "mix": self._mix.state(),
            "alarms": self.alarms,
            "drifted": self._drifted,
            "seen": self._seen,
            "dropped": self._dropped,
            "of_classes": self._of_classes,
        }


def _completed(
    verdict: Reading, total: Reading, classes: Mapping[str, Reading], *, mix_shift: bool = False
) -> ModelReading:
    """The verdict with the figures of all traffic."""
    whole = replace(
        verdict,
        length=total.length,
        baseline_length=total.baseline_length,
        design=total.design,
        calibrated=total.calibrated,
    )
    return ModelReading(whole, total, classes, mix_shift)


def _is_back(total: Reading) -> bool:
    """The length since the drop began is no longer under the baseline's."""
    now, before = total.length, total.baseline_length
    return now is not None and before is not None and now >= before
