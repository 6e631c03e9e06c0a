"""Increases of one counter, sample by sample: exact, whatever the samples are cut into.

A sample adds what it is above the one before. A counter that fell has started again and adds what it shows, and so
do all counters of a stream whose drafts fell. A first sample adds nothing, because it is a life's total; nor does
one after a silence of more than five minutes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from specwatch_detectors.watch.counters import FIXED
from specwatch_detectors.watch.pod_labels import Labels

MEMORY_S: Final = 300.0
"""How long a series is remembered: as long as Prometheus itself holds a sample for current."""
FAILOVER_S: Final = 90.0
"""Silence after which another view of the same counter is believed: several usual scrape intervals."""


@dataclass(eq=False, slots=True)
class Pod:
    """One target.

    Attributes:
        name: a digest of its labels.
        doubts: times at which its sidecar started anew and may have shown an engine's whole life again.
    """

    name: str
    doubts: list[float] = field(default_factory=list)

    def doubtful(self, after: float, until: float) -> bool:
        """Whether nothing can be said of what was counted between two times."""
        return any(after < at <= until for at in self.doubts)


@dataclass(eq=False, slots=True)
class Stream:
    """Counters that belong together: of one pod, model, and class (or engine and definition).

    Attributes:
        pod: where it runs.
        model: its model.
        kind: definition of the counts, or the traffic class.
        born: time since which its drafts have been followed without a gap; infinite before.
        falls: when its drafts fell, and in which view.
        cells: cells that have a series.
        width: length of a row.
        depth: positions without a gap that have a count of accepted tokens.
        rows: counts by tick of the span being read.
    """

    pod: Pod
    model: str
    kind: str
    born: float = math.inf
    falls: list[tuple[float, Labels]] = field(default_factory=list)
    cells: set[int] = field(default_factory=set)
    width: int = 0
    depth: int = 0
    rows: dict[int, list[float]] = field(default_factory=dict)

    def add_cell(self, cell: int) -> None:
        """Make room for another counter."""
        self.cells.add(cell)
        if cell >= self.width:
            for row in self.rows.values():
                row.extend([0.0] * (cell + 1 - self.width))
            self.width = cell + 1
        while FIXED + 2 * self.depth in self.cells:
            self.depth += 1

    def fell(self, after: float, until: float, label: Labels) -> bool:
        """Whether its drafts fell between two times, as that view saw it."""
        return any(after < at <= until and seen == label for at, seen in self.falls)


@dataclass(eq=False, slots=True)
class View:
    """One raw series: one view of one counter.

    Attributes:
        stream: what it belongs to.
        cell: the cell of the row that it fills.
        labels: all of its labels.
        label: what tells it apart from other views of the same counter.
        at: time of its last sample; minus infinity before the first.
        value: of its last sample.
        restarted: when it last started again, as far as it saw.
        twins: all views of the counter, itself included, if there are several.
    """

    stream: Stream
    cell: int
    labels: Mapping[str, str] = field(default_factory=dict)
    label: Labels = ()
    at: float = -math.inf
    value: float = 0.0
    restarted: float = -math.inf
    twins: Twins | None = None

    def step(self, at: float, value: float) -> float:
        """Take the next sample in, which is newer than the last; returns what it adds, >= 0."""
        last, before, stream = self.at, self.value, self.stream
        self.at, self.value = at, value
        if at - last > MEMORY_S:
            return self._first(at, value, never_seen=last == -math.inf)
        if stream.pod.doubts and stream.pod.doubtful(last, at):
            return 0.0
        if value < before:
            self.restarted = at
            if self.cell == 0:
                stream.falls.append((at, self.label))
            return value
        if stream.falls and self.cell and stream.fell(last, at, self.label):
            self.restarted = at
            return value
        return value - before

    def _first(self, at: float, value: float, *, never_seen: bool) -> float:
        """A part of a stream that appears later than its drafts was zero until then."""
        if self.cell == 0:
            self.stream.born = at
            return 0.0
        return value if never_seen and self.stream.born < at else 0.0


@dataclass(eq=False, slots=True)
class Twins:
    """Several views of one counter, of which one at a time is believed: the first that is not silent.

    Views are never added, and never mixed: two Prometheus replicas read a counter at different moments with clocks
    that differ, so that their samples in order of time may seem to fall.

    Attributes:
        views: in order of their labels.
        at: time of the last sample that was believed.
        value: its value.
    """

    views: list[View]
    at: float
    value: float

    def step(self, view: View, at: float, value: float) -> float:
        """Take a sample of one view in; samples of all views come in order of time."""
        own, before = view.at, view.value
        alone = view.step(at, value)
        if at <= self.at or any(other.at > at - FAILOVER_S for other in self.views[: self.views.index(view)]):
            return 0.0
        last, total = self.at, self.value
        if own == last and before == total:  # the view that was believed last
            added = alone
        elif at - last > MEMORY_S or view.stream.pod.doubtful(last, at):
            added = 0.0
        elif view.restarted > last:
            added = value
        elif value < total and at - last <= FAILOVER_S:  # a little behind the view believed so far: wait
            return 0.0
        else:
            added = max(0.0, value - total)
        self.at, self.value = at, value
        return added


def join(known: View, newcomer: View) -> None:
    """Make another view of a counter known; what was believed so far stays believed."""
    twins = known.twins or Twins([known], known.at, known.value)
    twins.views = sorted((*twins.views, newcomer), key=lambda view: view.label)
    known.twins = newcomer.twins = twins
