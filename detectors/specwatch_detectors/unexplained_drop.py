"""All traffic accepts less and no class has drifted: is it the mix, the draft, or can nobody tell?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specwatch_detectors.class_coverage import LEAST_COVERAGE, ClassCoverage
from specwatch_detectors.class_monitor import ClassMonitor
from specwatch_detectors.mix_test import MixTest, MixVerdict
from specwatch_detectors.mix_words import named, unheard, unsaid
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import DriftState, Reading, compared


@dataclass(frozen=True, slots=True)
class UnexplainedDrop:
    """A drop of all traffic that no class shows by itself.

    Attributes:
        mix: the question put to the classes.
        coverage: how much of the traffic has a class.
        classes: their monitors.
        settings: how long doubt is waited for.
    """

    mix: MixTest
    coverage: ClassCoverage
    classes: ClassMonitor
    settings: MonitorSettings

    def verdict(self, total: Reading, now: float, *, waited: float, paged: bool) -> tuple[Reading, bool]:
        """What to say of it, and whether it is a change of mix.

        Args:
            total: the reading of all traffic, drifted.
            now: seconds.
            waited: seconds since the drop was found.
            paged: somebody was paged for it, which doubt does not take back.
        """
        if self.mix.verdict is MixVerdict.MIX:
            besides = unsaid(self.mix.unknown, self.coverage.silence(now))
            reason = f"the mix of traffic has changed, no class accepts less{besides}: {compared(total)}"
            return self._watch(reason, total), True
        if self.mix.verdict is MixVerdict.DRAFT:
            reason = f"acceptance has dropped within classes, whatever their mix: {compared(total)}"
            return replace(total, reason=reason), False
        why, waits = self._why_not_told(now, waited)
        if paged or not waits:
            return replace(total, reason=f"{total.reason}; {why}"), False
        reason = f"acceptance of all traffic has dropped, and {why}: {compared(total)}"
        if self.coverage.silence(now) is not None:
            return Reading(DriftState.CANNOT_TELL, reason, since=total.since), False
        return self._watch(reason, total), False

    def _why_not_told(self, now: float, waited: float) -> tuple[str, bool]:
        """Why the classes do not say whether a drop is one of mix, and whether that is worth waiting for."""
        silence = self.coverage.silence(now)
        if silence is not None:
            words = unheard(silence, unreadable=self.coverage.unreadable)
            return words, silence <= self.settings.class_patience_s
        if self.coverage.bare(now):
            return f"only {self.coverage.share:.0%} of it has a class, the mix may have changed", False
        if self.classes.coverage >= LEAST_COVERAGE:  # they judge for themselves
            return "the classes do not tell yet whether the mix is the reason", True
        names = named(self.mix.unknown)
        why = f"its classes are too young to tell whether the mix is the reason{f' ({names})' if names else ''}"
        return why, waited <= self.settings.class_ripening_s

    def _watch(self, reason: str, total: Reading) -> Reading:
        return Reading(DriftState.WATCH, reason, self.classes.score, since=total.since)
