"""The project's own monitors on simulated counters."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench_detect.demand import SCRAPE_S
from bench_detect.pod import windows_of
from bench_detect.simulator import Counts
from bench_detect.traffic_class import DEPTH
from specwatch_detectors.model_monitor import Calibration, ModelMonitor
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.reading import Change, DriftState

TOTAL, BY_CLASS = "specwatch, total", "specwatch, by class"


@dataclass
class Watch:
    """One pod watched: what would have paged, by the total alone and by the verdict that classes give.

    Attributes:
        monitor: of the model.
        names: of the classes.
        now: seconds.
        pages: scrapes that began a page, counted from the first one seen, by contender.
    """

    monitor: ModelMonitor
    names: tuple[str, ...]
    now: float = 0.0
    pages: dict[str, list[int]] = field(default_factory=lambda: {TOTAL: [], BY_CLASS: []})
    _on: dict[str, bool] = field(default_factory=lambda: {TOTAL: False, BY_CLASS: False})
    _seen: int = 0

    @classmethod
    def begin(
        cls, settings: MonitorSettings, calibrations: Mapping[str, Calibration], names: tuple[str, ...]
    ) -> Watch:
        """A watch with a profile."""
        return cls(ModelMonitor(settings, depth=DEPTH, calibrations=calibrations), names)

    def feed(self, counts: Counts, restarts: tuple[int, ...] = (), *, until_found: bool = False) -> None:
        """Take scrapes in.

        Args:
            counts: by scrape, class, and drafts, s_1, ...
            restarts: scrapes at which the engine came back.
            until_found: stop once the total and the classes have paged.
        """
        totals = windows_of(counts.sum(axis=1).tolist())
        classes = [windows_of(counts[:, index].tolist()) for index in range(len(self.names))]
        for index, total in enumerate(totals):
            if index in restarts:
                self.monitor.changed(Change.RESTART)
            self.now += SCRAPE_S
            by_class = {name: rows[index] for name, rows in zip(self.names, classes, strict=True)}
            reading = self.monitor.update(total, self.now, by_class)
            self._mark(TOTAL, reading.total.state is DriftState.DRIFTED)
            self._mark(BY_CLASS, reading.verdict.state is DriftState.DRIFTED)
            self._seen += 1
            if until_found and all(self.pages.values()):
                return

    def _mark(self, name: str, drifted: bool) -> None:
        if drifted and not self._on[name]:
            self.pages[name].append(self._seen)
        self._on[name] = drifted

    def fork(self) -> Watch:
        """The same watch at this moment, its pages counted anew; a drift that is on counts as found at once."""
        other = copy.deepcopy(self)
        other._seen, other.pages = 0, {name: [] for name in self.pages}
        other._on = dict.fromkeys(self._on, False)
        return other
