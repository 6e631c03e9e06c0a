"""One engine behind its real metrics page, scraped by the real scraper, judged by the sidecar's detectors."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Final

from detectors.interval_of import KeptState
from specwatch_detectors.model_monitor import Calibration
from specwatch_detectors.monitor_settings import MonitorSettings
from specwatch_detectors.sidecar_watch import SidecarWatch
from specwatch_detectors.threshold import Budget
from specwatch_exporters.sidecar.declaration import Declaration
from specwatch_exporters.sidecar.fetch import Fetched
from specwatch_exporters.sidecar.scraper import Scraper
from specwatch_exporters.sidecar.version_probe import EngineFacts
from specwatch_exporters.sidecar.watcher import Judgement

STEP_S: Final = 10.0
WALL: Final = 1.8e9
Q: Final = (0.74, 0.72, 0.71)
DRAFTS: Final = 5000
_SPREAD: Final = 0.1
"""Of the log-odds from scrape to scrape: a design effect of about ten."""
_PAGE: Final = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{model_name="m",engine="0"}} 4
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{model_name="m",engine="0"}} {tokens}
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{{model_name="m",engine="0"}} {tokens}
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{{model_name="m",engine="0"}} {drafts}
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{{model_name="m",engine="0"}} {drafted}
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{{model_name="m",engine="0"}} {accepted}
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
{positions}
"""
_POSITION: Final = (
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{{model_name="m",engine="0",position="{position}"}} {value}'
)
_START: Final = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {start}\n"


class SidecarRig:
    """The engine, and its sidecar, which may be restarted and may be away.

    Args:
        seed: of the randomness.
        tells_start: the page has the process's start.
        calibrations: what a profile of the first sidecar knows.
    """

    def __init__(
        self,
        seed: int = 1,
        *,
        tells_start: bool = True,
        calibrations: Callable[[str], Mapping[str, Calibration]] | None = None,
    ) -> None:
        self._random = random.Random(seed)
        self._tells_start = tells_start
        self.wall = WALL
        self.ratio = 1.0
        self.drafts = DRAFTS
        self.version = "0.30.0"
        self.store = KeptState()
        self.seen: list[Judgement] = []
        self.restart_engine()
        self.start_sidecar(calibrations)

    # What happens.

    def restart_engine(self, version: str | None = None) -> None:
        """A new process counts from zero."""
        self._started = self.wall
        self._counted = [0] * (1 + len(Q))
        self.version = version or self.version

    def start_sidecar(self, calibrations: Callable[[str], Mapping[str, Calibration]] | None = None) -> None:
        """Another process that finds what the last one kept; its monotonic clock begins anew."""
        self._booted = self.wall
        settings = MonitorSettings(budget=Budget(interval_s=STEP_S))
        self.watch = SidecarWatch(settings, calibrations=calibrations, store=self.store)
        self._scraper = Scraper(
            self._fetch,
            lambda _kind: EngineFacts(version=self.version),
            declaration=Declaration(method="eagle3"),
            watcher=self.watch,
            clock=lambda: self.wall - self._booted,
            wall=lambda: self.wall,
        )

    def replace_sidecar(self, away_s: float = 30.0) -> None:
        """The sidecar stops; the engine works on meanwhile."""
        self.watch.close()
        self.work(round(away_s / STEP_S))
        self.start_sidecar()

    def work(self, intervals: int) -> None:
        """The engine drafts, and nobody looks."""
        for _ in range(intervals):
            self.wall += STEP_S
            shift = self._random.gauss(0.0, _SPREAD)
            kept = self.drafts
            self._counted[0] += kept
            for position, q in enumerate(Q, start=1):
                kept = round(kept * self.ratio / (1.0 + (1.0 - q) / q * math.exp(-shift)))
                self._counted[position] += kept

    def run(self, minutes: float) -> Judgement:
        """Scrape for so long; gives the last verdict."""
        for _ in range(round(minutes * 60.0 / STEP_S)):
            self.work(1)
            assert self._scraper.scrape(), self._scraper.snapshot().message
            self.seen.extend(self.watch.judgements(self.wall - self._booted))
        return self.seen[-1]

    def until(self, state: str, minutes: float = 60.0) -> Judgement:
        """Scrape until the state is this one."""
        for _ in range(round(minutes * 60.0 / STEP_S)):
            if self.run(STEP_S / 60.0).state == state:
                return self.seen[-1]
        raise AssertionError(f"not {state} within {minutes:g} min: {self.seen[-1]}")

    # What is seen.

    def now(self) -> Judgement:
        """The present verdict."""
        return self.watch.judgements(self.wall - self._booted)[0]

    def began(self, one: Judgement | None = None) -> float:
        """When the evidence began, on the wall's clock."""
        since = (one or self.now()).since_s
        assert since is not None
        return self.wall - since

    def _fetch(self) -> Fetched:
        drafts, *accepted = self._counted
        page = _PAGE.format(
            tokens=drafts + sum(accepted),
            drafts=drafts,
            drafted=drafts * len(Q),
            accepted=sum(accepted),
            positions="\n".join(_POSITION.format(position=n, value=value) for n, value in enumerate(accepted)),
        )
        if self._tells_start:
            page += _START.format(start=self._started)
        return Fetched(200, "text/plain; version=0.0.4", page.encode(), 0.01, framed=True)
