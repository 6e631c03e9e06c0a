"""All models of a fleet: samples of a span in, judgements tick by tick, readings out."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.watch.counter_book import BEFORE, CounterBook, Span
from specwatch_detectors.watch.counters import COUNTERS
from specwatch_detectors.watch.fleet_model import Calibrations, FleetModel, NewMonitor, no_profile
from specwatch_detectors.watch.pod_facts import FACTS, Fact, FactKind, PodFacts
from specwatch_detectors.watch.pod_labels import PodLabels
from specwatch_detectors.watch.series_increase import MEMORY_S
from specwatch_detectors.watch.source import Source, SourceError
from specwatch_detectors.watch.tick_counts import tick_counts

LOG = logging.getLogger("specwatch.watch")
MAX_MODELS: Final = 200
FORGET_S: Final = 86_400.0
"""Silence after which a model is taken for removed, and no longer shown as one that cannot be told."""


class Fleet:
    """Judges the models of a fleet.

    What it knows is what `state` gives and what can be read again: the last samples of every series. So a state
    stays small whatever the number of pods, and a fleet that goes on from one reads the five minutes before it.

    Args:
        labels: which labels tell pods apart.
        new_monitor: makes the monitor of a model.
        state: what `state` of a predecessor gave.
        calibrations: of the profile.

    Raises:
        ValueError: the state is not one of a fleet.
    """

    def __init__(
        self,
        labels: PodLabels,
        new_monitor: NewMonitor,
        state: Mapping[str, Mapping[str, Any]] | None = None,
        calibrations: Calibrations = no_profile,
    ) -> None:
        self._labels = labels
        self._new_monitor = new_monitor
        self._calibrations = calibrations
        kept = {} if state is None else state
        self.models = {name: self._new_model(name, own) for name, own in sorted(kept.items())}
        self._left_out: set[str] = set()
        self.forget_series()

    def forget_series(self) -> None:
        """Forget all samples: the next span reads the time before it again."""
        self._book = CounterBook(self._labels)
        self._facts = PodFacts(self._book.pod)
        self._primed = False

    @property
    def series(self) -> int:
        """Counter series followed."""
        return self._book.size

    def take(self, source: Source, span: Span) -> None:
        """Read a span and judge each of its ticks.

        Spans follow each other without a gap. If this fails the series are forgotten and nothing was judged: the
        same span can be taken again.

        Raises:
            SourceError: the source gave no answer, or none that can be read.
        """
        begin = span.start if self._primed else span.start - MEMORY_S
        try:
            with _no_collector():
                facts = self._read(source, begin, span)
        except SourceError:
            self.forget_series()
            raise
        except (KeyError, TypeError, ValueError) as error:
            self.forget_series()
            raise SourceError(f"the answer holds no samples as Prometheus gives them: {error!r}") from error
        self._primed = True
        try:
            self._judge(span, facts)
        except BaseException:
            self.forget_series()  # or the counts of this span would be missing when it is taken again
            raise

    def _read(self, source: Source, begin: float, span: Span) -> list[Fact]:
        if self._book.open(span):
            self._facts.sweep(begin)
        facts: list[Fact] = []
        for metric in FACTS:
            facts.extend(self._facts.read(metric, source.fetch(metric.name, begin, span.end), span.end))
        for counter in COUNTERS:
            self._book.take(counter, source.fetch(counter.name, begin, span.end))
        facts.extend(
            Fact(at, stream.pod.name, FactKind.RESTART, model=stream.model) for at, stream in self._book.restarts()
        )
        return sorted(facts, key=lambda fact: (fact.at, fact.pod, fact.kind, fact.value))

    def _judge(self, span: Span, facts: list[Fact]) -> None:
        by_tick: dict[int, list[Fact]] = {}
        for fact in facts:
            by_tick.setdefault(span.tick(fact.at), []).append(fact)
        for tick in range(BEFORE, span.ticks):
            self._tick(tick, span.start + (tick + 1) * span.length, by_tick.get(tick, []))

    def _tick(self, tick: int, now: float, facts: list[Fact]) -> None:
        """One tick; that of the time before the span only tells what there was."""
        counts = tick_counts(self._book, tick)
        for name, own in counts.items():
            model = self._model(name)
            if model is not None:
                model.saw(own, now, newcomer=tick != BEFORE)
        for fact in facts:
            for model in self.models.values() if fact.model is None else self._named(fact.model):
                model.rollout.told(fact.pod, fact.kind, fact.value, fact.at)
        if tick == BEFORE:
            return
        for name, model in list(self.models.items()):
            model.follow(now)
            if name in counts:
                model.take(counts[name], now)
            elif now - model.seen > FORGET_S and model.seen:
                LOG.info("%s: nothing for a day, forgotten", name)
                del self.models[name]

    def _new_model(self, name: str, state: Mapping[str, Any] | None = None) -> FleetModel:
        return FleetModel(name, self._new_monitor, state, self._calibrations)

    def _named(self, name: str) -> list[FleetModel]:
        return [self.models[name]] if name in self.models else []

    def _model(self, name: str) -> FleetModel | None:
        found = self.models.get(name)
        if found is None and len(self.models) < MAX_MODELS:
            found = self.models[name] = self._new_model(name)
        if found is None and name not in self._left_out:
            self._left_out.add(name)
            LOG.warning("%s: left out, %d models are watched already", name, MAX_MODELS)
        return found

    def readings(self, now: float) -> dict[str, ModelReading]:
        """What is known of each model at a time."""
        found = {name: model.reading(now) for name, model in sorted(self.models.items())}
        return {name: reading for name, reading in found.items() if reading is not None}

    def accept(self) -> None:
        """Somebody says that the present acceptance is the new normal: all baselines are learned again."""
        for _, model in sorted(self.models.items()):
            model.accept()

    def state(self) -> dict[str, Any]:
        """Everything but the series, as JSON."""
        return {name: model.state() for name, model in self.models.items()}


@contextmanager
def _no_collector() -> Iterator[None]:
    """Reading makes a million objects, none in a cycle; looking for cycles among them takes as long as reading."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
