"""The time that a page shows, and how far apart its points are."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from specwatch_alerts.durations import seconds_of

MOST_POINTS: Final = 1000
"""No query asks for more points of a series, whatever a panel says."""
_ROUND: Final = (
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    300,
    600,
    900,
    1200,
    1800,
    3600,
    7200,
    10800,
    21600,
)
_SINCE: Final = re.compile(r"now-(\w+)")
_LEAST_SCRAPES: Final = 4


class SpanError(ValueError):
    """A time range that cannot be shown; one line."""


@dataclass(frozen=True, slots=True)
class Span:
    """From one time to another.

    Attributes:
        start: epoch seconds.
        end: epoch seconds.
    """

    start: float
    end: float

    @property
    def length_s(self) -> float:
        """Its length."""
        return self.end - self.start

    def step(self, points: int, least_s: float) -> float:
        """Seconds between points, a round number: at most so many points, and no closer than scrapes are."""
        wanted = max(self.length_s / max(1, min(points, MOST_POINTS)), least_s)
        return next((each for each in _ROUND if each >= wanted), math.ceil(wanted))

    def aligned(self, step_s: float) -> Span:
        """The same with ends on whole steps, as Grafana asks."""
        return Span(math.floor(self.start / step_s) * step_s, math.floor(self.end / step_s) * step_s)


def rate_window(step_s: float, scrape_s: float) -> float:
    """What `$__rate_interval` stands for: seconds."""
    return max(step_s + scrape_s, _LEAST_SCRAPES * scrape_s)


def since_of(text: str) -> float:
    """Length in seconds of a dashboard's time range such as `now-6h`.

    Raises:
        SpanError: it is another kind of range.
    """
    found = _SINCE.fullmatch(text)
    try:
        return seconds_of(found[1] if found else "")
    except ValueError:
        raise SpanError(f"the dashboard's time range begins at {text!r}: say --since") from None


def promql_duration(seconds: float) -> str:
    """A duration as PromQL takes it."""
    return f"{round(seconds)}s" if seconds >= 1 and seconds == round(seconds) else f"{round(seconds * 1000)}ms"
