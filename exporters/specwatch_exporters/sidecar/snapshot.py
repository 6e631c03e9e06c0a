"""What the sidecar knows after a scrape: immutable, shared by the collector and the status page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specwatch_exporters.notices import Notice
from specwatch_exporters.page import Key
from specwatch_exporters.report import ModelReport
from specwatch_exporters.sidecar.version_probe import EngineFacts


@dataclass(frozen=True, slots=True)
class EngineView:
    """The engine as of the last successful scrape.

    Attributes:
        totals: canonical counters of the series on the last page, since the sidecar first saw them.
        gauges: canonical gauges.
        recent: one report per model over the last minute.
        derived: per model, figures of the last minute by catalogue name; unknown ones are missing.
    """

    kind: str
    dialect: str
    definition: str
    totals: Mapping[Key, float]
    gauges: Mapping[Key, float]
    recent: tuple[ModelReport, ...]
    derived: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    facts: EngineFacts = field(default_factory=EngineFacts)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is exported at one moment.

    Attributes:
        engine: the last good view, or None before the first.
        last_success: monotonic time of that view, or of the start.
        success: whether the last scrape succeeded; False before the first.
        cause: why the last scrape failed, or empty.
        message: one line on that failure for people, or empty.
        outcomes: scrapes by outcome.
    """

    engine: EngineView | None
    last_success: float
    success: bool
    cause: str
    message: str
    outcomes: Mapping[str, int]
    duration_s: float | None = None
    page_bytes: int | None = None
    restarts: int = 0
    notices: tuple[Notice, ...] = ()
    history: tuple[tuple[float, float | None, float | None], ...] = ()
    """(monotonic time, acceptance length of the last minute, requests waiting) over the last ten minutes."""
