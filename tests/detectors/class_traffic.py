"""A scrape sidecar with random traffic by class: an engine's counters, and a request sidecar's page beside them."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily, Metric

from detectors.interval_of import KeptState, interval
from specwatch_detectors.class_counts import ClassCounts
from specwatch_detectors.model_monitor import ModelReading
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.threshold import Budget
from specwatch_exporters import request_catalog
from specwatch_exporters.sidecar.watcher import Judgement

STEP_S: Final = 10.0
DRAFTS: Final = 5000.0
DEPTH: Final = 3
Q: Final = {
    "code": 0.8,
    "chat": 0.6,
    "agent": 0.35,
    "other": 0.5,
    **{f"c{n:02}": 0.4 + 0.035 * n for n in range(13)},
}
_SPREAD: Final = 0.12
"""Of the log-odds of a class from interval to interval: with 2,500 drafts a design effect of about 15."""
EVEN: Final = {"code": 0.5, "chat": 0.5}


class ClassTraffic:
    """An engine whose draft accepts by class, watched by a sidecar that learns everything by itself.

    Args:
        seed: of the randomness.
        lag: scrapes by which the counts of classes come late.
        drafts: a scrape.
    """

    def __init__(self, seed: int, *, lag: int = 0, drafts: float = DRAFTS) -> None:
        self._random = random.Random(seed)
        self._drafts = drafts
        self._late: deque[dict[str, list[float]]] = deque([{}] * lag)
        self._totals: dict[str, list[float]] = {}
        self.now = 0.0
        self.shares: Mapping[str, float] = EVEN
        self.factor = 1.0
        self.names: Mapping[str, str] = {}
        """What clients call the classes; `""` for those that say nothing."""
        self.readable = True
        self.version = "1"
        self.store = KeptState()
        self.watch = self._sidecar()
        self.states: set[str] = set()
        self.paged_at: float | None = None

    def _sidecar(self) -> SidecarWatch:
        settings = MonitorSettings(budget=Budget(interval_s=STEP_S))
        watch = SidecarWatch(settings, classes=ClassCounts(self._page), store=self.store)
        watch.take(interval(self.now, first=True, version=self.version))
        return watch

    def restart_sidecar(self) -> None:
        """Another process goes on from the kept state."""
        self.watch.close()
        self.now += STEP_S
        self.watch = self._sidecar()

    def run(self, minutes: float, *, restarted: bool = False) -> Judgement:
        """Let time pass; gives the last judgement.

        Args:
            minutes: how long.
            restarted: the engine restarts at the beginning.
        """
        for step in range(round(minutes * 60.0 / STEP_S)):
            self._scrape(restarted=restarted and not step)
            one = self.judgement
            self.states.add(one.state)
            agrees(one, self.reading)
            if one.state == "drifted" and self.paged_at is None:
                self.paged_at = self.now
        return self.judgement

    @property
    def judgement(self) -> Judgement:
        (one,) = self.watch.judgements(self.now)
        return one

    @property
    def reading(self) -> ModelReading:
        (one,) = self.watch._present(self.now)  # the mix flag is not on the page
        return one.reading

    def _scrape(self, *, restarted: bool) -> None:
        self.now += STEP_S
        seen = {name: self._counted(name, share * self._drafts) for name, share in self.shares.items() if share}
        self._late.append(seen)
        for name, counted in self._late.popleft().items():
            called = self.names.get(name, name)
            if called:
                kept = self._totals.setdefault(called, [0.0] * (DEPTH + 1))
                self._totals[called] = [a + b for a, b in zip(kept, counted, strict=True)]
        whole = [sum(column) for column in zip(*seen.values(), strict=True)]
        self.watch.take(interval(self.now, whole[0], whole[1:], restarted=restarted, version=self.version))

    def _counted(self, name: str, drafts: float) -> list[float]:
        """Drafts, and those accepted up to each position."""
        odds = Q[name] / (1.0 - Q[name]) * math.exp(self._random.gauss(0.0, _SPREAD))
        q, found = self.factor * odds / (1.0 + odds), [round(drafts)]
        for _ in range(DEPTH):
            mean = found[-1] * q
            found.append(min(found[-1], max(0, round(self._random.gauss(mean, math.sqrt(mean * (1.0 - q)))))))
        return [float(count) for count in found]

    def _page(self) -> Iterable[Metric]:
        if not self.readable:
            raise OSError("connection refused")
        for place, metric in enumerate(
            (request_catalog.DRAFTS, request_catalog.DRAFT_TOKENS, request_catalog.ACCEPTED_TOKENS)
        ):
            family = CounterMetricFamily(metric.family, metric.help, labels=metric.labels)
            for name, kept in self._totals.items():
                values = (kept[0], kept[0] * DEPTH, sum(kept[1:]))
                family.add_metric(["m", name, "eagle3"], values[place])
            yield family
        metric = request_catalog.ACCEPTED_PER_POSITION
        family = CounterMetricFamily(metric.family, metric.help, labels=metric.labels)
        for name, kept in self._totals.items():
            for position in range(DEPTH):
                family.add_metric(["m", name, "eagle3", str(position)], kept[position + 1])
        yield family


def agrees(one: Judgement, reading: ModelReading) -> None:
    """State, words, cause and mix flag of one moment say the same."""
    assert reading.mix_shift == one.headline.startswith("the mix of traffic has changed"), one
    if reading.mix_shift:
        assert (one.state, one.cause) == ("watch", "the mix of traffic has changed"), one
    else:
        assert "mix" not in one.cause, one
    if one.state in ("ok", "watch") and not reading.mix_shift:
        assert not one.cause, one
