"""A vLLM engine for tests that changes its number of draft tokens: by restart, by batch, within an interval."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.threshold import Budget
from specwatch_exporters.sidecar.declaration import Declaration
from specwatch_exporters.sidecar.fetch import Fetched
from specwatch_exporters.sidecar.scraper import Scraper
from specwatch_exporters.sidecar.version_probe import EngineFacts

Q = (0.72, 0.70, 0.69, 0.68, 0.68)
STEP_S = 10.0
SLOTS_16 = 5333
"""Drafts in 10 s of 16 slots that take a step in 30 ms."""
SPREAD = 0.1
"""Log-odds by which intervals differ at 16 slots, and less with more drafts: a design effect of about 15."""
_TYPES = {
    "num_requests_running": "gauge",
    "spec_decode_num_drafts_total": "counter",
    "spec_decode_num_draft_tokens_total": "counter",
    "spec_decode_num_accepted_tokens_total": "counter",
    "spec_decode_num_accepted_tokens_per_pos_total": "counter",
    "spec_decode_num_draft_tokens_per_pos_total": "counter",
}


class DepthEngine:
    """Counts as an engine does whose drafts have the depths that it is told.

    Args:
        seed: of what requests differ by.
        most: positions on the page, the configured K.
        drafted: whether the page counts draft tokens by position.
    """

    def __init__(self, seed: int, most: int, *, drafted: bool = False) -> None:
        self._random = random.Random(seed)
        self._shows_drafted = drafted
        self.factors: Sequence[float] = (1.0,) * len(Q)
        self.restart(0.0, most)

    def restart(self, now: float, most: int) -> None:
        """Begin at zero, with that many positions."""
        self._began, self._drafts = now, 0
        self._drafted, self._accepted = [0] * most, [0] * most

    def step(self, depths: Mapping[int, int]) -> None:
        """An interval with so many drafts of each depth."""
        spread = SPREAD * math.sqrt(SLOTS_16 / max(1, sum(depths.values())))
        shift = self._random.gauss(0.0, min(0.5, spread))
        q = [factor * _moved(value, shift) for value, factor in zip(Q, self.factors, strict=True)]
        for depth, drafts in depths.items():
            self._drafts += drafts if depth else 0
            kept = drafts
            for position in range(depth):
                self._drafted[position] += drafts
                kept = round(kept * q[position])
                self._accepted[position] += kept

    @property
    def page(self) -> bytes:
        """The engine's page."""
        values: dict[str, Sequence[float]] = {
            "num_requests_running": [16.0],
            "spec_decode_num_drafts_total": [self._drafts],
            "spec_decode_num_draft_tokens_total": [sum(self._drafted)],
            "spec_decode_num_accepted_tokens_total": [sum(self._accepted)],
            "spec_decode_num_accepted_tokens_per_pos_total": self._accepted,
            **({"spec_decode_num_draft_tokens_per_pos_total": self._drafted} if self._shows_drafted else {}),
        }
        lines = ["# TYPE vllm:cache_config_info gauge", 'vllm:cache_config_info{engine="0"} 1']
        for name, found in values.items():
            lines.append(f"# TYPE vllm:{name} {_TYPES[name]}")
            for index, value in enumerate(found):
                position = f',position="{index}"' if "per_pos" in name else ""
                lines.append(f'vllm:{name}{{model_name="m",engine="0"{position}}} {value}')
        lines += ["# TYPE process_start_time_seconds gauge", f"process_start_time_seconds {self._began}"]
        return ("\n".join(lines) + "\n").encode()


class WatchedEngine:
    """The engine, a scraper on its page, and the sidecar's detectors behind it; `states` has one row a scrape."""

    def __init__(self, engine: DepthEngine) -> None:
        self.engine = engine
        self.now = 0.0
        self.states: list[tuple[str, str]] = []
        self.watch = SidecarWatch(MonitorSettings(budget=Budget(interval_s=STEP_S)))
        self._scraper = Scraper(
            lambda: Fetched(200, "text/plain; version=0.0.4", engine.page, 0.01),
            lambda _kind: EngineFacts(version="0.30.0"),
            declaration=Declaration(method="eagle3"),
            watcher=self.watch,
            clock=lambda: self.now,
            wall=lambda: 1.7e9 + self.now,
        )
        self._scraper.scrape()

    def step(self, depths: Mapping[int, int]) -> None:
        """One interval and the scrape behind it."""
        self.now += STEP_S
        self.engine.step(depths)
        self._scraper.scrape()
        self.states += [(one.state, one.headline) for one in self.watch.judgements(self.now)]

    @property
    def alarms(self) -> int:
        """Pages so far."""
        return sum(one.alarms for one in self.watch.judgements(self.now))

    @property
    def baseline_length(self) -> float:
        """As the sidecar exports it."""
        families = {family.name: family for family in self.watch.families(self.now)}
        (sample,) = families["specwatch_drift_baseline_length_tokens"].samples
        return float(sample.value)


def split(drafts: int, share: float, deep: int, flat: int) -> dict[int, int]:
    """Drafts of two depths, that share of them deep."""
    return {deep: round(share * drafts), flat: drafts - round(share * drafts)}


def _moved(value: float, log_odds: float) -> float:
    return 1.0 / (1.0 + (1.0 - value) / value * math.exp(-log_odds))
