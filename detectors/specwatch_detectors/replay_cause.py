"""Why a replayed alarm came: the counts before and after its onset, and what happened, given to `explain`."""

from __future__ import annotations

from typing import Final

from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.event import Event, EventKind
from specwatch_detectors.explain.evidence import Dimension, Evidence
from specwatch_detectors.explain.explanation import Explanation, explain
from specwatch_detectors.replaying import ALL, Alarm, MixShift, Replayed, added
from specwatch_detectors.window import NOTHING

AFTER_S: Final = 1_800.0
"""Seconds after the alarm that are looked at, too: a replay knows what came next."""
_NEAR_S: Final = 7_200.0
_KINDS: Final = {
    "K": EventKind.DEPTH,
    "draft": EventKind.DRAFT,
    "method": EventKind.METHOD,
    "restart": EventKind.RESTART,
    "target": EventKind.TARGET,
    "version": EventKind.VERSION,
}


def cause_of(found: Replayed, finding: Alarm | MixShift) -> Explanation:
    """Explain an alarm or a change of mix from the half hour behind it, or less where it was over sooner."""
    onset = finding.at - found.history.interval_s if finding.since is None else finding.since
    until = min([finding.at + AFTER_S, *(at for at in found.recoveries if at > finding.at)])
    intervals = found.history.intervals
    before = added(interval for interval in intervals if interval.at <= onset)
    after = added(interval for interval in intervals if onset < interval.at <= until)
    pairs = {
        name: Comparison(before.get(name, NOTHING), after.get(name, NOTHING)).of_one_depth()
        for name in sorted({*before, *after})
    }
    classes = {name: pair for name, pair in pairs.items() if name != ALL}
    monitors = found.monitor.classes.monitors
    return explain(
        Evidence(
            pairs[ALL],
            groups={Dimension.CLASS: classes} if classes else {},
            events=_events(found, onset),
            onset=onset,
            interval_s=found.history.interval_s,
            design=found.monitor.total.bank.design,
            designs={name: monitors[name].bank.design for name in classes if name in monitors},
            alarmed=isinstance(finding, Alarm),
        )
    )


def _events(found: Replayed, onset: float) -> list[Event] | None:
    """What happened near the onset; None where the history would not show it."""
    history = found.history
    if not history.facts and not history.changes:
        return None
    return [
        Event(_KINDS[change.what], change.at, change.was, change.now)
        for change in history.changes
        if abs(change.at - onset) <= _NEAR_S
    ]
