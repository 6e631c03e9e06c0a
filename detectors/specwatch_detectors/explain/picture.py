"""The evidence with what can be computed from it once: splits by dimension, shape, which groups fell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specwatch_detectors.explain import kitagawa, shape
from specwatch_detectors.explain.comparison import Comparison
from specwatch_detectors.explain.event import Event
from specwatch_detectors.explain.evidence import EXCHANGEABLE, Dimension, Evidence
from specwatch_detectors.explain.group_changes import GroupChanges, judge
from specwatch_detectors.explain.kitagawa import Split
from specwatch_detectors.explain.shape import Shape
from specwatch_detectors.window import NOTHING

_NEAR_BEFORE_S = 1800.0
_AT_BEFORE_S = 120.0
_SLACK = 3.0
"""Scrape intervals by which the onset may be dated wrongly; what came later did not cause the fall."""
_LEAST_COVERED = 0.8


@dataclass(frozen=True, slots=True)
class Picture:
    """What facts are read from.

    Attributes:
        evidence: as given.
        splits: Kitagawa split by dimension, where two groups or more cover the traffic before and after.
        changes: which groups fell, by dimension.
        shape: of the classes together if they cover the traffic, else of the total.
        near: events from 30 minutes before the onset to just after it; None if events or onset are unknown, or if
            there are none and nobody watched all of that time.
        at_onset: those of them from 2 minutes before, likewise.
    """

    evidence: Evidence
    splits: Mapping[Dimension, Split]
    changes: Mapping[Dimension, GroupChanges]
    shape: Shape
    near: tuple[Event, ...] | None
    at_onset: tuple[Event, ...] | None

    @property
    def effective_drafts(self) -> float:
        """Drafts over design effect on the side that has fewer."""
        total = self.evidence.total
        return min(total.before.drafts, total.after.drafts) / self.evidence.design


def draw(evidence: Evidence) -> Picture:
    """Compute everything once."""
    splits = {}
    for dimension, groups in evidence.groups.items():
        found = kitagawa.split(groups, evidence.design, evidence.designs)
        if found is not None and len(found.parts) > 1 and _covers(groups, evidence.total):
            splits[dimension] = found
    classes = evidence.groups.get(Dimension.CLASS, {}) if Dimension.CLASS in splits else {}
    shaped = shape.fit(classes.values() or [evidence.total], evidence.design)
    return Picture(
        evidence,
        splits,
        {dimension: _changes(dimension, evidence) for dimension in evidence.groups},
        shaped,
        _between(evidence, _NEAR_BEFORE_S),
        _between(evidence, _AT_BEFORE_S),
    )


def _covers(groups: Mapping[str, Comparison], total: Comparison) -> bool:
    together = sum(groups.values(), start=Comparison())
    return (
        together.before.drafts >= _LEAST_COVERED * total.before.drafts
        and together.after.drafts >= _LEAST_COVERED * total.after.drafts
    )


def _changes(dimension: Dimension, evidence: Evidence) -> GroupChanges:
    groups = evidence.groups[dimension]
    together = sum((group.before for group in groups.values()), start=NOTHING)
    reference = together if dimension in EXCHANGEABLE and together.drafts > 0.0 else None
    designs = evidence.designs if dimension is Dimension.CLASS else None
    return judge(groups, evidence.design, designs, reference=reference)


def _between(evidence: Evidence, before_s: float) -> tuple[Event, ...] | None:
    if evidence.events is None:
        return None
    if not evidence.events and evidence.watched_since is None:
        return ()
    if evidence.onset is None:
        return None
    slack = _SLACK * evidence.interval_s
    first = evidence.onset - max(before_s, slack)
    last = evidence.onset + slack
    found = [event for event in evidence.events if first <= event.time <= last]
    if not found and evidence.watched_since is not None and evidence.watched_since > first:
        return None
    return tuple(sorted(found, key=lambda event: (event.time, event.kind)))
