from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from alerts.loopback_site import serving
from detectors.watch.recording_monitor import RecordingMonitor
from engine.prometheus_process import prometheus_scraping
from specwatch_detectors.model_monitor import ModelMonitor
from specwatch_detectors.reading import Change, DriftState
from specwatch_detectors.watch.fleet import Fleet
from specwatch_detectors.watch.pod_labels import PodLabels
from specwatch_detectors.watch.prometheus_address import PrometheusAddress
from specwatch_detectors.watch.prometheus_source import PrometheusSource
from specwatch_detectors.watch.rounds import Grid, Rounds
from specwatch_detectors.watch.source import SourceError

DEADLINE_S = 60.0
GRID = Grid(interval_s=1, delay_s=2, since_s=1)
OWN = 'model="llama",engine="0",definition="vllm-v1-counters"'


@dataclass
class Page:
    """A sidecar's page: each look at it finds a few drafts more."""

    drafts: int = 5000
    version: str = "0.32.0"
    away: bool = False
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def text(self) -> str:
        with self.lock:
            self.drafts += 137
            kept = round(self.drafts * 0.7)
            return "\n".join(
                (
                    f"specwatch_drafts_total{{{OWN}}} {self.drafts}",
                    f"specwatch_draft_tokens_total{{{OWN}}} {self.drafts}",
                    f"specwatch_accepted_tokens_total{{{OWN}}} {kept}",
                    f'specwatch_accepted_tokens_per_position_total{{{OWN},position="0"}} {kept}',
                    "specwatch_engine_restarts_total 0",
                    f'specwatch_engine_info{{kind="vllm",dialect="v1",version="{self.version}"}} 1',
                    'specwatch_speculation_info{model="llama",method="eagle3",definition="vllm-v1-counters"} 1',
                    'specwatch_num_speculative_tokens{model="llama"} 1',
                    "",
                )
            )


def served(page: Page) -> AbstractContextManager[str]:
    """Serve a page; gives host:port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.text().encode()
            self.send_response(503 if page.away else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            with suppress(BrokenPipeError):  # Prometheus ends in the middle of a scrape
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return serving(Handler)


class Watch:
    """A watch of a real Prometheus, with monitors that remember."""

    def __init__(self) -> None:
        self.monitors: dict[str, RecordingMonitor] = {}
        self.rounds = Rounds(
            Fleet(PodLabels(), self._new_monitor), PrometheusSource(PrometheusAddress("http://x")), GRID
        )
        self.ask("http://127.0.0.1:1")
        self.first: int | None = None

    def _new_monitor(self, model: str, depth: int, state: Mapping[str, Any] | None) -> ModelMonitor:
        self.monitors[model] = RecordingMonitor(depth=depth, state=state)
        return self.monitors[model]

    def ask(self, url: str) -> None:
        self.source = PrometheusSource(PrometheusAddress(url, timeout_s=10))
        self.rounds._source = self.source

    @property
    def drafts(self) -> float:
        return sum(total.drafts for total in self.monitors["llama"].totals) if self.monitors else 0.0

    def until(self, happened: Callable[[], bool]) -> None:
        """Rounds, one a tick, until something is so."""
        end = time.monotonic() + DEADLINE_S
        while not happened():
            assert time.monotonic() < end
            try:
                self.rounds.catch_up(time.time())
            except SourceError:
                time.sleep(0.2)
            if self.first is None and self.rounds.at is not None:
                self.first = self.rounds.at - GRID.interval_s
            time.sleep(0.1)

    def counted_by_prometheus(self, pods: int) -> float:
        """What its samples say was drafted between the watch's first tick and its last."""
        assert self.first is not None
        assert self.rounds.at is not None
        series = self.source.fetch("specwatch_drafts_total", self.first - 300, self.rounds.at)
        assert len(series) == pods
        total = 0.0
        for row in series:
            samples = [(float(at), float(value)) for at, value in row["values"]]
            for (_, before), (at, value) in pairwise(samples):
                if self.first < at <= self.rounds.at:
                    total += value - before if value >= before else value
        return total

    def state(self) -> DriftState:
        return self.rounds.readings(time.time())["llama"].verdict.state


def test_a_fleet_scraped_by_a_real_prometheus(tmp_path: Path) -> None:
    a, b, watch = Page(), Page(drafts=90_000), Watch()
    with served(a) as one, served(b) as other:
        targets = {"a": one, "b": other}
        with prometheus_scraping(targets, tmp_path) as prometheus:
            watch.ask(prometheus.url)
            watch.until(lambda: watch.drafts > 3 * 137)

            a.drafts = 0  # the pod restarts
            watch.until(lambda: watch.counted_by_prometheus(2) > 8 * 137)
            assert watch.drafts == watch.counted_by_prometheus(2)
            assert watch.drafts < 90_000, "no life's total and no jump"

            a.version = b.version = "0.33.0"
            watch.until(lambda: Change.VERSION in watch.monitors["llama"].changes)
            assert watch.drafts == watch.counted_by_prometheus(2)

            b.away = True  # a pod that cannot be scraped for a while
            before = watch.drafts
            watch.until(lambda: watch.drafts > before + 2 * 137)
            b.away = False
            watch.until(lambda: watch.drafts > before + 6 * 137)
            assert watch.drafts == watch.counted_by_prometheus(2)

        before, at = watch.drafts, watch.rounds.at  # Prometheus is gone
        while not watch.rounds.behind(time.time()):
            time.sleep(0.1)
        with pytest.raises(SourceError, match="refused"):
            watch.rounds.catch_up(time.time())
        assert (watch.drafts, watch.rounds.at) == (before, at)

        with prometheus_scraping(targets, tmp_path) as prometheus:  # and comes back with its data
            watch.ask(prometheus.url)
            watch.until(lambda: watch.drafts > before + 3 * 137)
            assert watch.drafts == watch.counted_by_prometheus(2)
            assert watch.monitors["llama"].changes.count(Change.VERSION) == 1
            assert watch.state() is DriftState.CANNOT_TELL, "it is still learning"
            watch.source.close()
