"""Samples straight from the pages of sidecars, for one machine or a demo without a Prometheus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client.metrics_core import Metric

from specwatch_detectors.change_watch import ADAPTIVE_SPAN_S
from specwatch_detectors.fallback.level import Level
from specwatch_detectors.watch.source import RawSeries, SourceError
from specwatch_exporters import catalog
from specwatch_exporters.exposition import ExpositionError, parse
from specwatch_exporters.sidecar.fetch import fetch
from specwatch_exporters.sidecar.fetch_error import FetchError

LEVEL_LABEL: Final = "specwatch_level"
"""Label that says of which level a page is."""
KEEP_S: Final = 600.0
LONGER_S: Final = {catalog.NUM_SPECULATIVE_TOKENS.name: ADAPTIVE_SPAN_S}
"""Metrics that are kept longer."""
Read = Callable[[], Iterable[Metric]]
"""Gives the families of a page, or raises OSError or ValueError with one line."""


class PageSource:
    """Reads the pages when it is asked, and remembers what they said in the last minutes.

    A sample has the time at which the sidecar scraped its engine last.

    Args:
        pages: of sidecars, by level; several of one level are several pods.
    """

    def __init__(self, pages: Mapping[Level, Iterable[Read]]) -> None:
        self._pages = [
            (level, f"{level.value} {n}", read) for level, own in pages.items() for n, read in enumerate(own)
        ]
        self._series: dict[str, dict[tuple[tuple[str, str], ...], deque[tuple[float, float]]]] = {}
        self._polled = 0.0
        self._failed = ""
        self._problems: dict[Level, list[str]] = {}

    def fetch(self, metric: str, start: float, end: float) -> list[RawSeries]:
        """All samples of a metric with start < time <= end.

        Raises:
            SourceError: no page can be read.
        """
        if end != self._polled:
            self._poll(end)
        if self._failed:
            raise SourceError(self._failed)
        found: list[RawSeries] = []
        for labels, samples in self._series.get(metric, {}).items():
            values = [(at, str(value)) for at, value in samples if start < at <= end]
            if values:
                found.append({"metric": dict(labels), "values": values})
        return found

    def unreadable(self, level: Level) -> str:
        """Which pages of a level could not be read when they were read last, and why; empty if all could."""
        return "; ".join(self._problems.get(level, []))

    def _poll(self, now: float) -> None:
        self._problems = {}
        for level, instance, read in self._pages:
            try:
                families = list(read())
            except (OSError, ValueError) as error:
                self._problems.setdefault(level, []).append(f"{instance}: {error}")
                continue
            self._take(families, {LEVEL_LABEL: level.value, "instance": instance}, now)
        self._polled = now
        problems = [words for own in self._problems.values() for words in own]
        self._failed = "; ".join(problems) if len(problems) == len(self._pages) else ""

    def _take(self, families: list[Metric], more: Mapping[str, str], now: float) -> None:
        samples = [sample for family in families for sample in family.samples]
        age = next((one.value for one in samples if one.name == catalog.SCRAPE_AGE.name), 0.0)
        at = now - max(0.0, age)
        for one in samples:
            if not one.name.startswith("specwatch_"):
                continue
            labels = tuple(sorted({**one.labels, **more}.items()))
            kept = self._series.setdefault(one.name, {}).setdefault(labels, deque())
            if not kept or kept[-1][0] < at:
                kept.append((at, one.value))
            while kept and kept[0][0] <= now - LONGER_S.get(one.name, KEEP_S):
                kept.popleft()


def page(url: str, timeout_s: float) -> Read:
    """Reads a page over HTTP."""

    def read() -> Iterable[Metric]:
        try:
            got = fetch(url, timeout_s=timeout_s)
            return parse(got.body.decode("utf-8", errors="replace"), got.content_type).families
        except FetchError as error:
            raise OSError(error.message) from error
        except ExpositionError as error:
            raise ValueError(f"{url}: {error}") from error

    return read
