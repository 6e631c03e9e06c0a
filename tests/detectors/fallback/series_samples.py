"""Samples in memory, as sidecars of levels would give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specwatch_detectors.fallback.fallback_source import SeriesSource, SourceSettings
from specwatch_detectors.fallback.fallback_state import FallbackState
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.fallback.level_rule import LevelRule
from specwatch_detectors.watch.source import RawSeries, SourceError

NOW = 10_000.0
MODEL = "llama"


class Samples:
    """A source of samples in memory."""

    def __init__(self) -> None:
        self.series: dict[str, list[RawSeries]] = {}
        self.down = ""

    def add(self, metric: str, values: Sequence[tuple[float, float]], **labels: str) -> None:
        pairs = [(at, str(value)) for at, value in values]
        self.series.setdefault(metric, []).append({"metric": {"model": MODEL, **labels}, "values": pairs})

    def payoff(
        self, level: str, three: tuple[float, ...], batch: str = "8", at: float = NOW, **labels: str
    ) -> None:
        for bound, value in zip(("lower", "estimate", "upper"), three, strict=True):
            own = {"specwatch_level": level, "batch": batch, "bound": bound, **labels}
            self.add("specwatch_payoff_speedup_ratio", [(at, value)], **own)

    def drafts(self, level: str, *values: float, **labels: str) -> None:
        own = {"specwatch_level": level, "engine": "0", "definition": "d", **labels}
        times = [NOW - 10.0 * (len(values) - 1 - n) for n in range(len(values))]
        self.add("specwatch_drafts_total", list(zip(times, values, strict=True)), **own)

    def fetch(self, metric: str, start: float, end: float) -> Sequence[RawSeries]:
        if self.down:
            raise SourceError(self.down)
        found: list[RawSeries] = []
        for one in self.series.get(metric, []):
            values = [pair for pair in one["values"] if start < pair[0] <= end]
            if values:
                found.append({"metric": one["metric"], "values": values})
        return found


def source(samples: Samples, **settings: Any) -> SeriesSource:
    known = {"model": MODEL, "home": Level.DRAFT, "rule": LevelRule("specwatch_level"), **settings}
    return SeriesSource(samples, SourceSettings(**known))


def state(level: Level = Level.DRAFT, **values: Any) -> FallbackState:
    return FallbackState(level, 0.0, **values)
