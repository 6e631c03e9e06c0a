"""Where samples come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

RawSeries = Mapping[str, Any]
"""A series as the Prometheus HTTP API gives it: `metric` (labels) and `values` (pairs of seconds and a text)."""


class SourceError(Exception):
    """There is no answer, or none that can be read; one line says why."""


class Source(Protocol):
    """Gives raw samples."""

    def fetch(self, metric: str, start: float, end: float) -> Sequence[RawSeries]:
        """All samples of a metric with start < time <= end; samples at or before the start do no harm.

        Args:
            metric: name of a row of the catalogue.
            start: whole epoch seconds.
            end: whole epoch seconds.

        Raises:
            SourceError: it cannot be reached, refuses, or gives something else.
        """
