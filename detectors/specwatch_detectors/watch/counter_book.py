"""The book of all counters: raw series of any number of pods in, counts per stream and tick out.

Written for speed: a fleet of 1,000 pods and 12 classes has 130,000 series a round. Each costs one look-up by its
labels as they came and a subtraction; sorting, splitting and naming of labels happens once per series.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from sys import intern
from typing import Any, Final

from specwatch_detectors.watch.counters import COUNTERS, Counter, Origin
from specwatch_detectors.watch.pod_labels import Labels, PodLabels
from specwatch_detectors.watch.series_increase import MEMORY_S, Pod, Stream, View, join
from specwatch_detectors.watch.source import RawSeries

BEFORE: Final = -1
"""Tick of all samples from before the span: they are only remembered."""
_KIND: Final = {Origin.ENGINE: "definition", Origin.REQUEST: "traffic_class"}


@dataclass(frozen=True, slots=True)
class Span:
    """The ticks being read.

    Attributes:
        start: whole epoch seconds; samples at or before it count for nothing.
        ticks: how many.
        length: whole seconds of one.
    """

    start: int
    ticks: int
    length: int

    @property
    def end(self) -> int:
        """Last moment of the last tick."""
        return self.start + self.ticks * self.length

    def tick(self, at: float) -> int:
        """The tick whose end is the first at or after a time within the span."""
        return BEFORE if at <= self.start else math.ceil((at - self.start) / self.length) - 1


class CounterBook:
    """Follows every raw series.

    Args:
        labels: which labels tell pods apart.
    """

    def __init__(self, labels: PodLabels) -> None:
        self._labels = labels
        self._pods: dict[Labels, Pod] = {}
        self._streams: dict[tuple[Any, ...], Stream] = {}
        self._first_views: dict[tuple[Stream, int], View] = {}
        self._views: dict[tuple[Stream, int, Labels], View] = {}
        self._known: dict[Counter, dict[tuple[str, ...], View]] = {counter: {} for counter in COUNTERS}
        self._order: dict[Counter, tuple[list[Mapping[str, str]], list[View]]] = {}
        self._own = {counter: frozenset(counter.metric.labels) for counter in COUNTERS}
        self._touched: dict[Origin, dict[int, list[Stream]]] = {origin: {} for origin in Origin}
        self._span = Span(0, 0, 1)
        self._swept = 0

    def pod(self, labels: Mapping[str, str], own: frozenset[str]) -> tuple[Pod, Labels]:
        """The pod that a series belongs to, and the view of it."""
        name, view = self._labels.split(labels, own)
        found = self._pods.get(name)
        if found is None:
            found = self._pods[name] = Pod(_digest(name))
        return found, view

    # Taking in.

    def open(self, span: Span) -> bool:
        """Begin a span: forget the counts of the last one, keep what the next sample is subtracted from.

        Returns:
            Whether pods that have been silent were forgotten too.
        """
        for by_tick in self._touched.values():
            for streams in by_tick.values():
                for stream in streams:
                    stream.rows = {}
            by_tick.clear()
        self._span = span
        due = span.start - self._swept > MEMORY_S
        if due:
            self._sweep(span.start)
            self._swept = span.start
        return due

    def take(self, counter: Counter, series: Sequence[RawSeries]) -> None:
        """Take the samples of one counter in; drafts before the other counters of their origin.

        Samples may be in any order and come any number of times; those that are not newer than the last one of
        their series, or later than the span, are left out.
        """
        span, end = self._span, self._span.end
        counts_from = span.start if span.ticks == 1 else math.inf  # one tick: nothing to compute
        shared: dict[int, list[tuple[float, View, float]]] = {}
        for view, one in zip(self._views_of(counter, series), series, strict=True):
            samples = one["values"]
            if view.twins is not None:
                shared.setdefault(id(view.twins), []).extend((at, view, float(text)) for at, text in samples)
                continue
            stream = view.stream
            for at, text in samples if len(samples) == 1 else sorted(samples):
                value, last = float(text), view.at
                if not (last < at <= end and 0.0 <= value < math.inf):
                    continue
                if at - last <= MEMORY_S and value >= view.value and not (stream.falls or stream.pod.doubts):
                    added = value - view.value  # what `step` would say, without the call
                    view.at, view.value = at, value
                else:
                    added = view.step(at, value)
                tick = 0 if at > counts_from else span.tick(at)
                row = stream.rows.get(tick)
                if row is None:
                    row = self._new_row(counter.origin, stream, tick)
                row[view.cell] += added
        for merged in shared.values():
            self._take_shared(counter.origin, merged)

    def _take_shared(self, origin: Origin, samples: list[tuple[float, View, float]]) -> None:
        """Several views of one counter: their samples in order of time, of which one view's count."""
        for at, view, value in sorted(samples, key=lambda sample: (sample[0], sample[1].label, sample[2])):
            if view.twins is None or not (view.at < at <= self._span.end and 0.0 <= value < math.inf):
                continue
            added = view.twins.step(view, at, value)
            tick = self._span.tick(at)
            row = view.stream.rows.get(tick) or self._new_row(origin, view.stream, tick)
            row[view.cell] += added

    def _new_row(self, origin: Origin, stream: Stream, tick: int) -> list[float]:
        row = stream.rows[tick] = [0.0] * stream.width
        self._touched[origin].setdefault(tick, []).append(stream)
        return row

    def _views_of(self, counter: Counter, series: Sequence[RawSeries]) -> list[View]:
        """The view of each series; all of them are known before the first sample of any is taken in.

        An answer mostly has the series of the last one in the same order, which is seen in a third of the time that
        looking each up takes.
        """
        labels = [one["metric"] for one in series]
        before, views = self._order.get(counter, ([], []))
        if labels == before:
            return views
        known = self._known[counter]
        found = []
        for own in labels:
            view = known.get((*own, *own.values()))
            if view is None:
                kept = {intern(name): intern(value) for name, value in own.items()}
                view = known[(*kept, *kept.values())] = self._new_view(counter, kept)
            found.append(view)
        self._order[counter] = ([view.labels for view in found], found)
        return found

    def _new_view(self, counter: Counter, labels: Mapping[str, str]) -> View:
        """Register a series; one whose position cannot be used becomes a view to which every sample is old."""
        cell = counter.cell_of(labels.get("position", ""))
        if cell is None:
            return View(Stream(Pod(""), "", ""), 0, labels, at=math.inf)
        own = self._own[counter]
        pod, label = self.pod(labels, own)
        mine = tuple((name, labels.get(name, "")) for name in sorted(own - {"position"}))
        stream = self._streams.get((counter.origin, pod, mine))
        if stream is None:
            kind = labels.get(_KIND[counter.origin], "")
            stream = Stream(pod, intern(labels.get("model", "")), intern(kind))
            self._streams[(counter.origin, pod, mine)] = stream
        found = self._views.get((stream, cell, label))
        if found is not None:  # the same labels in another order
            return found
        stream.add_cell(cell)
        view = self._views[(stream, cell, label)] = View(stream, cell, labels, label)
        first = self._first_views.setdefault((stream, cell), view)
        if first is not view:
            join(first, view)
        return view

    # Giving out.

    def rows(self, origin: Origin, tick: int) -> Iterator[tuple[Stream, list[float]]]:
        """The streams that had a sample in a tick, each with its counts."""
        for stream in self._touched[origin].get(tick, ()):
            yield stream, stream.rows[tick]

    def restarts(self) -> Iterator[tuple[float, Stream]]:
        """When drafts of a stream fell, as far back as is remembered."""
        for origin in Origin:
            for streams in self._touched[origin].values():
                for stream in streams:
                    for at, _ in stream.falls:
                        yield at, stream

    def _sweep(self, now: float) -> None:
        """Forget the streams that have been silent for longer than the memory, and old falls and doubts."""
        horizon = now - MEMORY_S
        live = {view.stream for view in self._views.values() if view.at > horizon}
        pods = {stream.pod for stream in live}
        self._pods = {name: pod for name, pod in self._pods.items() if pod in pods}
        for pod in pods:
            pod.doubts = [at for at in pod.doubts if at > horizon]
        for stream in live:
            stream.falls = [fall for fall in stream.falls if fall[0] > horizon]
        self._order = {}
        self._streams = {key: stream for key, stream in self._streams.items() if stream in live}
        self._views = {key: view for key, view in self._views.items() if view.stream in live}
        self._first_views = {key: view for key, view in self._first_views.items() if view.stream in live}
        self._known = {
            counter: {key: view for key, view in known.items() if view.stream in live}
            for counter, known in self._known.items()
        }

    @property
    def size(self) -> int:
        """Series followed."""
        return len(self._views)


def _digest(labels: Labels) -> str:
    """A short name of a pod, so that the state of a large fleet stays small."""
    return blake2b(repr(labels).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
